package arc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// step reads one operator of a query.
func (p *parser) step() (func([]any) []any, error) {
	switch w := p.next(); strings.ToLower(w.text) {
	case "where":
		return p.where()
	case "project":
		return p.project()
	case "order", "sort":
		if !p.take("by") {
			return nil, fmt.Errorf("'by' is expected after '%s'", w.text)
		}
		return p.order()
	case "take", "limit":
		n, err := strconv.Atoi(p.next().text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("a number is expected after '%s'", w.text)
		}
		return func(rows []any) []any { return rows[:min(n, len(rows))] }, nil
	case "count":
		return func(rows []any) []any { return []any{map[string]any{"Count": len(rows)}} }, nil
	default:
		return nil, fmt.Errorf("the sandbox does not know the operator '%s', only where, project, order by, take and count", w.text)
	}
}

// where reads conditions that must all be true.
func (p *parser) where() (func([]any) []any, error) {
	var all []func(any) bool
	for {
		path, err := p.column()
		if err != nil {
			return nil, err
		}
		operator := strings.ToLower(p.next().text)
		wanted, err := p.constant()
		if err != nil {
			return nil, err
		}
		test, err := comparison(operator, path, wanted)
		if err != nil {
			return nil, err
		}
		all = append(all, func(row any) bool { return test(plain(at(row, path))) })
		if !p.take("and") {
			break
		}
	}
	return func(rows []any) []any {
		return slices.DeleteFunc(slices.Clone(rows), func(row any) bool {
			return slices.ContainsFunc(all, func(test func(any) bool) bool { return !test(row) })
		})
	}, nil
}

func comparison(operator string, path []string, wanted string) (func(string) bool, error) {
	equal := func(s string) bool { return s == wanted }
	if slices.Equal(path, []string{"properties", "sourceSyncedCommitId"}) {
		equal = func(s string) bool { return sameRevision(s, wanted) }
	}
	fold := func(s string) bool { return strings.EqualFold(s, wanted) }
	switch operator {
	case "==":
		return equal, nil
	case "!=":
		return func(s string) bool { return !equal(s) }, nil
	case "=~":
		return fold, nil
	case "!~":
		return func(s string) bool { return !fold(s) }, nil
	case "contains":
		return func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(wanted)) }, nil
	}
	return nil, fmt.Errorf("the sandbox does not know the comparison '%s', only ==, !=, =~, !~ and contains", operator)
}

// sameRevision takes the two ways to write a revision for the same: Flux writes
// dev@sha1:COMMIT, and the original's wait-for-deployment script asks for
// dev/COMMIT, as Flux wrote it then.
func sameRevision(is, wanted string) bool {
	return is == wanted || is != "" && strings.Replace(is, "@sha1:", "/", 1) == strings.Replace(wanted, "@sha1:", "/", 1)
}

func (p *parser) project() (func([]any) []any, error) {
	var columns [][]string
	for {
		path, err := p.column()
		if err != nil {
			return nil, err
		}
		columns = append(columns, path)
		if !p.take(",") {
			break
		}
	}
	return func(rows []any) []any {
		var out []any
		for _, row := range rows {
			m := map[string]any{}
			for _, path := range columns {
				m[strings.Join(path, "_")] = at(row, path)
			}
			out = append(out, m)
		}
		return out
	}, nil
}

// order sorts by a column, the largest first unless asc is said, as the graph
// does.
func (p *parser) order() (func([]any) []any, error) {
	path, err := p.column()
	if err != nil {
		return nil, err
	}
	sign := -1
	if p.take("asc") {
		sign = 1
	} else {
		p.take("desc")
	}
	return func(rows []any) []any {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b any) int { return sign * cmp.Compare(plain(at(a, path)), plain(at(b, path))) })
		return rows
	}, nil
}

// at is the value at a path of a row, nil when there is none.
func at(row any, path []string) any {
	for _, key := range path {
		m, ok := row.(map[string]any)
		if !ok {
			return nil
		}
		row = m[key]
	}
	return row
}

// plain is a value as text; nothing is the empty text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}
