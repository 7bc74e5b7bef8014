package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"
)

// MatrixQuery asks for one environment as a matrix. The filter chooses what is counted; rows
// that nothing is left of are left out. The page is of the rows.
type MatrixQuery struct {
	Environment string
	Rows        string // "types" or "clusters"
	Cols        string // "targets" or "workloads"
	ClusterType string // of the rows, for clusters
	PlacementFilter
	Page
}

// Matrix has numbers in place of the names that repeat.
type Matrix struct {
	Rows     []MatrixRow
	Cols     []MatrixCol
	Versions []string // what Cell.Version is an index of; short commits where there are no versions
	Cells    []Cell   // several of a row and a column where versions or states differ
	Next     string   // Page.After of the next rows, "" on the last page
	AsOf     time.Time
}

// MatrixRow is a cluster type, or a cluster with its type.
type MatrixRow struct {
	Name        string
	ClusterType string
	Clusters    int // in scope, of the type
}

// MatrixCol is a target with its workload, or a workload.
type MatrixCol struct{ Name, Workload, Workspace string }

// Cell counts the placements of a row and a column at one version in one state.
type Cell struct {
	Row, Col, Version int // indices
	State             int // index of placement.States
	N                 int
}

// Matrix is a page of rows with all their columns.
func (s *Store) Matrix(ctx context.Context, scope Scope, q MatrixQuery) (m Matrix, err error) {
	if q.Sort != "" {
		return m, fmt.Errorf("%w: %q", ErrSort, q.Sort)
	}
	f := q.PlacementFilter
	f.Environments = []string{q.Environment}
	if q.ClusterType != "" {
		f.ClusterTypes = []string{q.ClusterType}
	}
	if q.Cols == "" {
		q.Cols = "targets"
	}
	b := &matrixBuilder{
		scope: scope, query: q, filter: f, Matrix: Matrix{Rows: []MatrixRow{}, Cols: []MatrixCol{}, Versions: []string{}, Cells: []Cell{}},
		assignments: map[int64]matrixAssignment{}, rowOf: map[matrixRow]int{},
	}
	err = s.read(ctx, func(t tx) error {
		b.tx = t
		if err := b.readAssignments(); err != nil {
			return err
		}
		var counted []countedCell
		var err error
		if q.Rows == "clusters" {
			counted, err = b.clusters()
		} else {
			counted, err = b.types()
		}
		if err != nil {
			return err
		}
		b.setCells(counted)
		b.AsOf, err = t.asOf(scope, f.Environments)
		return err
	})
	return b.Matrix, err
}

type matrixBuilder struct {
	tx
	scope  Scope
	query  MatrixQuery
	filter PlacementFilter
	Matrix

	assignments map[int64]matrixAssignment
	rowOf       map[matrixRow]int
}

type matrixAssignment struct {
	clusterType string
	MatrixCol
}

// matrixRow is what a row is of; the cluster is 0 where rows are types.
type matrixRow struct {
	cluster     int64
	clusterType string
}

// countedCell is a number of placements.
type countedCell struct {
	cluster, assignment int64
	version             string
	state, n            int
}

// readAssignments reads the assignments in scope that the filter chooses. Names are put together
// here: sorting and grouping them would take the database longer.
func (b *matrixBuilder) readAssignments() error {
	where := ofAssignment(b.scope, b.filter)
	where.add("a.cluster_type <> ''")
	if err := b.environments(&where, "a.environment_id", b.scope, b.filter.Environments); err != nil {
		return err
	}
	return b.each(func(rows *sql.Rows) error {
		var id int64
		var a matrixAssignment
		err := rows.Scan(&id, &a.clusterType, &a.Name, &a.Workload, &a.Workspace)
		// what belongs to no workload is shown by itself
		if b.query.Cols == "workloads" && a.Workload != "" {
			a.Name = a.Workload
		}
		b.assignments[id] = a
		return err
	}, `SELECT a.id, a.cluster_type, a.target, a.workload, a.workspace FROM assignment a WHERE `+where.String(), where.args...)
}

func (b *matrixBuilder) readCells(text string, args []any) (all []countedCell, err error) {
	err = b.each(func(rows *sql.Rows) error {
		var c countedCell
		err := rows.Scan(&c.cluster, &c.assignment, &c.version, &c.state, &c.n)
		if _, ok := b.assignments[c.assignment]; ok {
			all = append(all, c)
		}
		return err
	}, text, args...)
	return all, err
}

// fromRollup are the cells of all rows together.
func (b *matrixBuilder) fromRollup() ([]countedCell, error) {
	where, err := b.ofRollup(b.scope, b.filter)
	if err != nil {
		return nil, err
	}
	return b.readCells(`SELECT 0, r.assignment_id, r.version, r.state, r.n FROM rollup r WHERE `+where.String(), where.args)
}

// readColumns makes the columns of the assignments that have anything, whatever the cluster.
func (b *matrixBuilder) readColumns() error {
	f := b.filter
	f.Clusters, f.Labels, f.Text = nil, "", ""
	where, err := b.ofRollup(b.scope, f)
	if err != nil {
		return err
	}
	found, err := b.numbers(`SELECT DISTINCT r.assignment_id FROM rollup r WHERE `+where.String(), where.args...)
	b.setColumns(found)
	return err
}

// setColumns makes the columns of assignments. They are those of all rows, so that each page has
// the same.
func (b *matrixBuilder) setColumns(found []int64) {
	known := map[MatrixCol]bool{}
	for _, id := range found {
		if a, ok := b.assignments[id]; ok && !known[a.MatrixCol] {
			known[a.MatrixCol] = true
			b.Cols = append(b.Cols, a.MatrixCol)
		}
	}
	slices.SortFunc(b.Cols, func(a, c MatrixCol) int {
		return cmp.Or(cmp.Compare(a.Workload, c.Workload), cmp.Compare(a.Name, c.Name), cmp.Compare(a.Workspace, c.Workspace))
	})
}

// of is all that a cursor of the matrix depends on.
func (b *matrixBuilder) of() []any {
	return []any{"matrix", b.scope, b.filter, b.query.Rows, b.query.Cols}
}

// types makes the rows of a page of cluster types.
func (b *matrixBuilder) types() (counted []countedCell, err error) {
	if b.filter.ofClusters() {
		var where condition
		if where, err = b.ofPlacement(b.scope, b.filter, anyIndex); err != nil {
			return nil, err
		}
		counted, err = b.readCells(`SELECT 0, p.assignment_id, `+versionColumn+`, p.state, count(*) FROM placement p WHERE `+where.String()+
			` GROUP BY p.assignment_id, `+versionColumn+`, p.state`, where.args)
	} else {
		counted, err = b.fromRollup()
	}
	if err != nil {
		return nil, err
	}
	types := map[string]bool{}
	found := map[int64]bool{}
	for _, c := range counted {
		types[b.assignments[c.assignment].clusterType] = true
		found[c.assignment] = true
	}
	b.setColumns(slices.Collect(maps.Keys(found)))
	names := slices.Sorted(maps.Keys(types))
	digest := digestOf(b.of()...)
	from, err := valuesOf(digest, b.query.After, []order{{text: true}})
	if err != nil {
		return nil, err
	}
	if from != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name <= from[0].(string) })
	}
	if limit := b.query.limit(); len(names) > limit {
		names = names[:limit]
		b.Next = cursorOf(digest, []any{names[limit-1]})
	}
	for i, name := range names {
		b.rowOf[matrixRow{0, name}] = i
		b.Rows = append(b.Rows, MatrixRow{Name: name, ClusterType: name})
	}
	if len(names) == 0 {
		return counted, nil
	}
	of, err := b.ofClusterRollup(b.scope, b.filter.Environments, names)
	if err != nil {
		return nil, err
	}
	return counted, b.each(func(rows *sql.Rows) error {
		var clusterType string
		var n int
		err := rows.Scan(&clusterType, &n)
		b.Rows[b.rowOf[matrixRow{0, clusterType}]].Clusters = n
		return err
	}, `SELECT m.cluster_type, count(DISTINCT m.cluster_id) FROM cluster_rollup m WHERE `+of.String()+` GROUP BY m.cluster_type`, of.args...)
}

// clusters makes the rows of a page of clusters that have something which the filter chooses.
func (b *matrixBuilder) clusters() ([]countedCell, error) {
	if err := b.readColumns(); err != nil {
		return nil, err
	}
	where, err := b.ofClusterRollup(b.scope, b.filter.Environments, b.filter.ClusterTypes)
	if err != nil {
		return nil, err
	}
	where.add("m.cluster_type <> ''")
	bare := PlacementFilter{Environments: b.filter.Environments, ClusterTypes: b.filter.ClusterTypes}
	if digestOf(bare) != digestOf(b.filter) {
		of, err := b.ofPlacement(b.scope, b.filter, anyIndex)
		if err != nil {
			return nil, err
		}
		where.add("m.cluster_id IN (SELECT p.cluster_id FROM placement p WHERE "+of.String()+")", of.args...)
	}
	q := listQuery{
		of: b.of(), by: []order{{column: "c.name", text: true}, {column: "m.cluster_type", text: true}}, where: where, group: " GROUP BY c.id, c.name, m.cluster_type",
		text: `SELECT c.id, c.name, m.cluster_type FROM cluster_rollup m JOIN cluster c ON c.id = m.cluster_id`,
	}
	var found []int64
	list, err := page(b.tx, q, b.query.Page, func(rows *sql.Rows) (MatrixRow, []any, error) {
		var id int64
		r := MatrixRow{Clusters: 1}
		err := rows.Scan(&id, &r.Name, &r.ClusterType)
		b.rowOf[matrixRow{id, r.ClusterType}] = len(found)
		found = append(found, id)
		return r, []any{r.Name, r.ClusterType}, err
	})
	if err != nil {
		return nil, err
	}
	b.Rows, b.Next = list.Items, list.Next
	of, err := b.ofPlacement(b.scope, b.filter, notByEnvironment)
	if err != nil {
		return nil, err
	}
	return b.readCells(`SELECT p.cluster_id, p.assignment_id, `+versionColumn+`, p.state, 1 FROM placement p WHERE p.cluster_id IN `+ids(found)+` AND `+of.String(), of.args)
}

// setCells adds up what is of one row, column, version and state.
func (b *matrixBuilder) setCells(counted []countedCell) {
	cols, versions, at := map[MatrixCol]int{}, map[string]int{}, map[Cell]int{}
	for i, col := range b.Cols {
		cols[col] = i
	}
	for _, c := range counted {
		a := b.assignments[c.assignment]
		row, isRow := b.rowOf[matrixRow{c.cluster, a.clusterType}]
		col, isCol := cols[a.MatrixCol]
		if !isRow || !isCol {
			continue
		}
		version, known := versions[c.version]
		if !known {
			version = len(b.Versions)
			versions[c.version] = version
			b.Versions = append(b.Versions, c.version)
		}
		key := Cell{Row: row, Col: col, Version: version, State: c.state}
		i, known := at[key]
		if !known {
			i = len(b.Cells)
			at[key] = i
			b.Cells = append(b.Cells, key)
		}
		b.Cells[i].N += c.n
	}
	slices.SortFunc(b.Cells, func(x, y Cell) int {
		return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.Col, y.Col), cmp.Compare(x.State, y.State), cmp.Compare(x.Version, y.Version))
	})
}
