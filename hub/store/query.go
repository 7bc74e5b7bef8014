package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"database/sql"

	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// PlacementFilter chooses placements: the values of a list are alternatives, and all lists that
// are not empty must hold.
type PlacementFilter struct {
	Environments, Clusters, ClusterTypes, Targets, Workloads, Workspaces []string
	Versions                                                             []string // as shown: short commits where there are no versions
	States                                                               []placement.State
	Labels                                                               string // selector of the clusters, as Kubernetes writes them
	Text                                                                 string // part of cluster, target, version or reason, without case
}

// ofClusters is whether the filter asks for more than the roll-up knows.
func (f PlacementFilter) ofClusters() bool {
	return len(f.Clusters) > 0 || f.Labels != "" || f.Text != ""
}

// condition is the predicate of a query, and its parameters in order.
type condition struct {
	texts []string
	args  []any
}

func (c *condition) add(text string, args ...any) {
	c.texts = append(c.texts, text)
	c.args = append(c.args, args...)
}

// in adds that a column has one of some values, if there are any.
func (c *condition) in(column string, values []string) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = clean(v)
	}
	c.add(column+" IN ("+strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")+")", args...)
}

// String is the predicate, for after WHERE.
func (c *condition) String() string {
	if len(c.texts) == 0 {
		return "1 = 1"
	}
	return "(" + strings.Join(c.texts, ") AND (") + ")"
}

// and are both.
func (c condition) and(other condition) condition {
	return condition{slices.Concat(c.texts, other.texts), slices.Concat(c.args, other.args)}
}

// ids is a list of numbers in a query.
func ids(numbers []int64) string {
	if len(numbers) == 0 {
		return "(NULL)"
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(texts, ",") + ")"
}

// environments adds that a column is one of the environments in scope that have one of the
// names, or any name. For one it is an equation, so that an index can also have the order.
func (t tx) environments(c *condition, column string, s Scope, names []string) error {
	if len(names) == 0 && len(s.Environments) == 0 {
		return nil
	}
	var of condition
	of.in("name", names)
	of.in("name", s.Environments)
	found, err := t.numbers(`SELECT id FROM environment WHERE `+of.String(), of.args...)
	if len(found) == 1 {
		c.add(column+" = ?", found[0])
	} else {
		c.add(column + " IN " + ids(found))
	}
	return err
}

// numbers are those of a query's only column.
func (t tx) numbers(text string, args ...any) (found []int64, err error) {
	err = t.each(func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		found = append(found, n)
		return err
	}, text, args...)
	return found, err
}

// ofAssignment is the part of a filter that is about the assignment a, with the scope.
func ofAssignment(s Scope, f PlacementFilter) condition {
	var c condition
	c.in("a.workspace", s.Workspaces)
	c.in("a.cluster_type", f.ClusterTypes)
	c.in("a.target", f.Targets)
	c.in("a.workload", f.Workloads)
	c.in("a.workspace", f.Workspaces)
	return c
}

func inStates(column string, states []placement.State) condition {
	var c condition
	if len(states) > 0 {
		numbers := make([]int64, len(states))
		for i, s := range states {
			numbers[i] = stateNumber(s)
		}
		c.add(column + " IN " + ids(numbers))
	}
	return c
}

// ofRollup is what chooses rows of the roll-up r.
func (t tx) ofRollup(s Scope, f PlacementFilter) (condition, error) {
	c := inStates("r.state", f.States)
	c.in("r.version", f.Versions)
	c.inAssignments("r.assignment_id", ofAssignment(s, f))
	return c, t.environments(&c, "r.environment_id", s, f.Environments)
}

// inAssignments adds that a column is one of the assignments a that a condition is true of.
func (c *condition) inAssignments(column string, of condition) {
	if len(of.texts) > 0 {
		c.add(column+" IN (SELECT a.id FROM assignment a WHERE "+of.String()+")", of.args...)
	}
}

// anyIndex and notByEnvironment are the environment of a placement p in a condition. A column
// with a sign is what no index is searched by: most placements are of one environment, so that
// others find less, or have the order of the list.
const (
	anyIndex         = "p.environment_id"
	notByEnvironment = "+p.environment_id"
)

// ofPlacement is what chooses placements p. environment is the column that has that.
func (t tx) ofPlacement(s Scope, f PlacementFilter, environment string) (condition, error) {
	c := inStates("p.state", f.States)
	if len(f.Versions) > 0 {
		var of condition
		of.in("version", f.Versions)
		c.add("p.assignment_id IN (SELECT assignment_id FROM rollup WHERE "+of.String()+")", of.args...)
		c.in(versionColumn, f.Versions)
	}
	c.inAssignments("p.assignment_id", ofAssignment(s, f))
	if len(f.Clusters) > 0 {
		var of condition
		of.in("name", f.Clusters)
		found, err := t.numbers(`SELECT id FROM cluster WHERE `+of.String(), of.args...)
		if err != nil {
			return c, err
		}
		c.add("p.cluster_id IN " + ids(found))
	}
	if err := t.labelled(&c, "p.cluster_id", f.Labels); err != nil {
		return c, err
	}
	if len(f.Clusters) > 0 || f.Labels != "" || len(f.Environments)+len(s.Environments) > 1 {
		environment = notByEnvironment
	}
	if t.engine == postgresEngine {
		environment = anyIndex // it knows how many placements each has
	}
	if err := t.environments(&c, environment, s, f.Environments); err != nil {
		return c, err
	}
	return c, t.withText(&c, f.Text)
}

// withText adds that a placement p has a text. Names are looked up first, so that most placements
// need no more than their index: what is ok has no reason.
func (t tx) withText(c *condition, text string) error {
	if text == "" {
		return nil
	}
	like := pattern(text)
	either := condition{[]string{"p.state < ? AND lower(p.reason) LIKE ? ESCAPE '!'"}, []any{stateNumber(placement.OK), like}}
	for _, names := range []struct{ column, query, also string }{
		{"p.cluster_id", "id FROM cluster WHERE lower(name)", ""},
		{"p.assignment_id", "id FROM assignment WHERE lower(target)", ""},
		{"p.assignment_id", "DISTINCT assignment_id FROM rollup WHERE lower(version)", " AND lower(" + versionColumn + ") LIKE ? ESCAPE '!'"},
	} {
		found, err := t.numbers(`SELECT `+names.query+` LIKE ? ESCAPE '!'`, like)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			either.add(names.column + " IN " + ids(found) + names.also)
			if names.also != "" {
				either.args = append(either.args, like)
			}
		}
	}
	c.add("("+strings.Join(either.texts, ") OR (")+")", either.args...)
	return nil
}

// pattern finds a text anywhere, without case. Both engines know the case of ASCII only, by the
// rules of the columns.
func pattern(text string) string {
	lower := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, clean(text))
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(lower) + "%"
}

// labelled adds that a column is a cluster whose labels a selector selects.
func (t tx) labelled(c *condition, column, selector string) error {
	if selector == "" {
		return nil
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrLabels, selector, err)
	}
	var found []int64
	err = t.each(func(rows *sql.Rows) error {
		var id int64
		var text string
		var set labels.Set
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			return err
		}
		if parsed.Matches(set) {
			found = append(found, id)
		}
		return nil
	}, `SELECT id, labels FROM cluster WHERE gone_at = 0`)
	c.add(column + " IN " + ids(found))
	return err
}

// order is a column that a list is sorted by. All columns of a list together are unique.
type order struct {
	column string
	down   bool
	text   bool // else a number
}

func orderBy(by []order) string {
	texts := make([]string, len(by))
	for i, o := range by {
		texts[i] = o.column
		if o.down {
			texts[i] += " DESC"
		}
	}
	return strings.Join(texts, ", ")
}

// sorted finds the order that a page asks for.
func sorted(sorts map[string][]order, names []string, page Page) ([]order, error) {
	if page.Sort == "" {
		return sorts[names[0]], nil
	}
	by, ok := sorts[page.Sort]
	if !ok {
		return nil, fmt.Errorf("%w: %q: give one of %s", ErrSort, page.Sort, strings.Join(names, ", "))
	}
	return by, nil
}

// cursor is where a page ends: the values that it is sorted by of its last row. The digest is of
// the filters and of the values.
type cursor struct {
	Digest string `json:"d"`
	Values []any  `json:"v"`
}

// cursorDigest is how much of a digest a cursor has: it finds mistakes, and protects nothing.
const cursorDigest = 16

// cursorOf makes a cursor; query is all that the list depends on.
func cursorOf(query string, values []any) string {
	c := cursor{digestOf(query, values)[:cursorDigest], values}
	return base64.RawURLEncoding.EncodeToString([]byte(encode(c)))
}

// valuesOf are those of a cursor, nil for the first page.
func valuesOf(query, at string, by []order) ([]any, error) {
	if at == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(at)
	if err != nil {
		return nil, ErrCursor
	}
	var from cursor
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&from) != nil || len(from.Values) != len(by) {
		return nil, ErrCursor
	}
	for i, v := range from.Values {
		n, isNumber := v.(json.Number)
		_, isText := v.(string)
		if isNumber == by[i].text || isText != by[i].text {
			return nil, ErrCursor
		}
		if isNumber {
			if from.Values[i], err = n.Int64(); err != nil {
				return nil, ErrCursor
			}
		}
	}
	if cursorOf(query, from.Values) != at {
		return nil, ErrCursor
	}
	return from.Values, nil
}

// after adds that rows come after those with some values.
func (c *condition) after(values []any, by []order) {
	if values == nil {
		return
	}
	compare := func(o order, orEqual string) string {
		if o.down {
			return o.column + " <" + orEqual + " ?"
		}
		return o.column + " >" + orEqual + " ?"
	}
	// the first column alone is what an index is entered by
	c.add(compare(by[0], "="), values[0])
	last := len(by) - 1
	predicate, args := compare(by[last], ""), []any{values[last]}
	for i := last - 1; i >= 0; i-- {
		predicate = compare(by[i], "") + " OR " + by[i].column + " = ? AND (" + predicate + ")"
		args = append([]any{values[i], values[i]}, args...)
	}
	c.add(predicate, args...)
}

// listQuery is a query whose rows are a list.
type listQuery struct {
	of    []any // the list's name, and all that its rows depend on
	by    []order
	text  string // up to WHERE
	where condition
	group string // GROUP BY
	// outer is what follows the page's rows, for a text that has begun with an outer query:
	// tables that only add to a row are not joined to those of other pages.
	outer string
}

// page is one page of a list. scan reads a row, and returns the values that it is sorted by.
func page[T any](t tx, q listQuery, p Page, scan func(*sql.Rows) (T, []any, error)) (List[T], error) {
	list := List[T]{Items: []T{}, Total: -1}
	digest := digestOf(append(q.of, p.Sort)...)
	from, err := valuesOf(digest, p.After, q.by)
	if err != nil {
		return list, err
	}
	where := q.where.and(condition{})
	where.after(from, q.by)
	limit := p.limit()
	sorted := " ORDER BY " + orderBy(q.by)
	text := q.text + " WHERE " + where.String() + q.group + sorted + " LIMIT " + strconv.Itoa(limit+1)
	if q.outer != "" {
		text += q.outer + sorted
	}
	var last []any
	more := false
	err = t.each(func(rows *sql.Rows) error {
		if len(list.Items) == limit {
			more = true
			return nil
		}
		item, values, err := scan(rows)
		list.Items = append(list.Items, item)
		last = values
		return err
	}, text, where.args...)
	if more {
		list.Next = cursorOf(digest, last)
	}
	return list, err
}
