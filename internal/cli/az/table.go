package az

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printTable prints a list, or one thing, as the Azure CLI does: a head with
// large first letters, a rule, and columns two blanks apart, each at least two
// wider than its head. Without columns it shows all that is neither a list nor
// an object, but not the ID and the type.
func printTable(w io.Writer, v any, columns, order []string) error {
	rows, isList := v.([]any)
	if !isList {
		rows = []any{v}
	}
	var cells []map[string]string
	for _, r := range rows {
		cells = append(cells, tableRow(r, columns))
	}
	if len(columns) == 0 {
		columns = tableColumns(cells, order)
	}
	if len(rows) == 0 || len(columns) == 0 {
		return nil
	}
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c) + 2
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[c]))
		}
	}
	var b strings.Builder
	line := func(text func(i int) string) {
		var one strings.Builder
		for i, width := range widths {
			t := text(i)
			one.WriteString(t + strings.Repeat(" ", width-utf8.RuneCountInString(t)+2))
		}
		b.WriteString(strings.TrimRight(one.String(), " ") + "\n")
	}
	line(func(i int) string { return capital(columns[i]) })
	line(func(i int) string { return strings.Repeat("-", widths[i]) })
	for _, row := range cells {
		line(func(i int) string { return row[columns[i]] })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tableRow are the cells of one thing.
func tableRow(v any, columns []string) map[string]string {
	row := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			_, list := one.([]any)
			_, object := one.(map[string]any)
			if one == nil || list || object || len(columns) == 0 && slices.Contains([]string{"id", "type", "etag", "revision"}, k) {
				continue
			}
			row[k] = cell(one)
		}
	case []any:
		for i, one := range v {
			row["Column"+strconv.Itoa(i+1)] = cell(one)
		}
	default:
		row["Result"] = cell(v)
	}
	return row
}

// tableColumns are the columns that some row has: those of the query in its
// order, the others by name.
func tableColumns(rows []map[string]string, order []string) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		for k := range r {
			seen[k] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), byOrder(order))
}

func byOrder(order []string) func(a, b string) int {
	rank := func(k string) int {
		if i := slices.Index(order, k); i >= 0 {
			return i
		}
		return len(order)
	}
	return func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a), len(b))*sameStem(a, b), cmp.Compare(a, b))
	}
}

// sameStem is 1 for Column2 and Column10, so that they sort as numbers.
func sameStem(a, b string) int {
	if strings.HasPrefix(a, "Column") && strings.HasPrefix(b, "Column") {
		return 1
	}
	return 0
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// cell is a value as Python, which the Azure CLI is written in, prints it.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return capital(strconv.FormatBool(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return v
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v)
}

// printTSV prints a line for each thing, its values with tabs between: by name,
// or in the order of the query. A list counts as its length, an object as
// nothing, so that all lines have the same columns.
func printTSV(w io.Writer, v any, order []string) error {
	rows, isList := v.([]any)
	if !isList {
		rows = []any{v}
	}
	for _, r := range rows {
		var values []string
		switch r := r.(type) {
		case map[string]any:
			for _, k := range slices.SortedFunc(maps.Keys(r), byOrder(order)) {
				values = append(values, tsvCell(r[k]))
			}
		case []any:
			for _, one := range r {
				values = append(values, tsvCell(one))
			}
		case bool:
			values = []string{strconv.FormatBool(r)}
		default:
			values = []string{cell(r)}
		}
		if _, err := fmt.Fprintln(w, strings.Join(values, "\t")); err != nil {
			return err
		}
	}
	return nil
}

func tsvCell(v any) string {
	switch v := v.(type) {
	case []any:
		return strconv.Itoa(len(v))
	case map[string]any:
		return ""
	}
	return cell(v)
}
