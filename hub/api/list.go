package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/negotiation"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// maxLimit is how many items a page has at most.
const maxLimit = 500

const (
	typeJSON = "application/json"
	typeCSV  = "text/csv"
)

type (
	// List is a page of a list.
	List[T any] struct {
		Items []T       `json:"items"`
		Next  string    `json:"next,omitempty" doc:"The cursor of the next page, for after; absent on the last."`
		Total *int      `json:"total,omitempty" doc:"How many there are on all pages; absent where that is not known."`
		AsOf  time.Time `json:"asOf,omitzero" doc:"When the oldest of it was observed."`
	}
	// Paging is what every list takes.
	Paging struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many items the page has at most. CSV has all rows, to 100,000."`
		After  string `query:"after" maxLength:"4096" doc:"The value of next of the page before, with the same filters."`
		Format string `query:"format" enum:"json,csv" doc:"csv is the same as Accept: text/csv."`
		Accept string `header:"Accept" hidden:"true"`
	}
	// SortedPaging is what lists take that can be sorted.
	SortedPaging struct {
		Paging
		Sort string `query:"sort" doc:"What it is sorted by; with - before it the other way round."`
	}
	// PlacementFilter is what lists of placements take. Values of one parameter mean OR.
	PlacementFilter struct {
		Environments []string `query:"env,explode" maxItems:"100" doc:"Environments."`
		Clusters     []string `query:"cluster,explode" maxItems:"100"`
		ClusterTypes []string `query:"clusterType,explode" maxItems:"100"`
		Targets      []string `query:"target,explode" maxItems:"100"`
		Workloads    []string `query:"workload,explode" maxItems:"100"`
		Workspaces   []string `query:"workspace,explode" maxItems:"100"`
		Versions     []string `query:"version,explode" maxItems:"100"`
		States       []State  `query:"state,explode" maxItems:"100"`
		Labels       string   `query:"label" maxLength:"1000" doc:"A label selector of the cluster, as of Kubernetes."`
		Text         string   `query:"q" maxLength:"200" doc:"A part of the cluster's or target's name, of a version or of a reason, without case."`
	}
)

func (p *Paging) page() store.Page { return store.Page{Limit: p.Limit, After: p.After} }

func (p *Paging) csv() bool {
	if p.Format != "" {
		return p.Format == "csv"
	}
	return negotiation.SelectQValueFast(p.Accept, []string{typeJSON, typeCSV}) == typeCSV
}

func (p *SortedPaging) page() store.Page {
	page := p.Paging.page()
	page.Sort = p.Sort
	return page
}

// paged is the input of a list.
type paged[I any] interface {
	*I
	page() store.Page
	csv() bool
}

// listing is how a list is read and shown.
type listing[P, S, D any] struct {
	sorts    []string // the values that sort may have
	read     func(context.Context, P, store.Page) (store.List[S], error)
	document func(S) D
	columns  []column[D] // of CSV
	// around puts a page into a document of another type; nil for the page alone.
	around     func(P, List[D]) any
	aroundType reflect.Type
}

// list registers an operation that answers with a page, or as CSV with all rows.
func list[I any, P paged[I], S, D any](a *api, o operation, l listing[P, S, D]) {
	described := o.huma()
	answered := reflect.TypeFor[List[D]]()
	if l.around != nil {
		answered = l.aroundType
	}
	schema := a.huma.OpenAPI().Components.Schemas.Schema(answered, true, "")
	described.Responses = map[string]*huma.Response{"200": {
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{typeJSON: {Schema: schema}, typeCSV: {Schema: &huma.Schema{Type: huma.TypeString}}},
		Headers:     map[string]*huma.Header{"Link": {Description: `rel="next": the next page.`, Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(a.huma, described, func(ctx context.Context, input *I) (*huma.StreamResponse, error) {
		p := P(input)
		page := p.page()
		if p.csv() {
			page.Limit = rowsEach
		}
		found, err := l.read(ctx, p, page)
		if err != nil {
			return nil, failed(ctx, err)
		}
		if p.csv() {
			return &huma.StreamResponse{Body: func(c huma.Context) { csvRows(c, l, p, page, found) }}, nil
		}
		document := List[D]{Items: make([]D, 0, len(found.Items)), Next: found.Next, AsOf: found.AsOf}
		if found.Total >= 0 {
			document.Total = &found.Total
		}
		for _, item := range found.Items {
			document.Items = append(document.Items, l.document(item))
		}
		whole := any(document)
		if l.around != nil {
			whole = l.around(p, document)
		}
		body, err := a.encoded(whole)
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			if found.Next != "" {
				c.SetHeader("Link", nextLink(c, found.Next))
			}
			a.write(c, body)
		}}, nil
	})
	for _, parameter := range a.huma.OpenAPI().Paths[o.path].Get.Parameters {
		if parameter.Name == "sort" {
			for _, s := range l.sorts {
				parameter.Schema.Enum = append(parameter.Schema.Enum, s)
			}
			parameter.Schema.PrecomputeMessages()
		}
	}
}

// encoded is a document as JSON, unless it is too large.
func (a *api) encoded(document any) (*bytes.Buffer, error) {
	var body bytes.Buffer
	if err := a.huma.Marshal(&body, typeJSON, document); err != nil {
		return nil, err
	}
	if body.Len() > maxAnswer {
		p := newProblemOf("answer-too-large", fmt.Sprintf("the answer would have %d KiB, and has at most %d", body.Len()>>10, maxAnswer>>10)).at("query.limit", nil)
		p.Hint = "ask with a smaller limit, and for the rest with after"
		return nil, p
	}
	return &body, nil
}

func (a *api) write(c huma.Context, body *bytes.Buffer) {
	c.SetHeader("Content-Type", typeJSON)
	c.SetStatus(http.StatusOK)
	if _, err := body.WriteTo(c.BodyWriter()); err != nil {
		requestOf(c.Context()).log.Debug("an answer could not be sent", "error", err)
	}
}

func nextLink(c huma.Context, next string) string {
	r, _ := humago.Unwrap(c)
	query := r.URL.Query()
	query.Set("after", next)
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
	return "<" + u.String() + `>; rel="next"`
}

// whole is a list of everything there is, for what needs no pages.
func whole[T any](items []T, asOf time.Time) List[T] {
	items = orEmpty(items)
	n := len(items)
	return List[T]{Items: items, Total: &n, AsOf: asOf}
}

// filter is the filter as the store takes it.
func (f *PlacementFilter) filter() store.PlacementFilter {
	return store.PlacementFilter{
		Environments: f.Environments, Clusters: f.Clusters, ClusterTypes: f.ClusterTypes, Targets: f.Targets, Workloads: f.Workloads,
		Workspaces: f.Workspaces, Versions: f.Versions, States: statesOf(f.States), Labels: f.Labels, Text: f.Text,
	}
}

// knownEnvironments is a problem about an environment of a filter that nobody knows, or that is
// out of scope: an empty list would look as if nothing ran there.
func (a *api) knownEnvironments(ctx context.Context, asked []string) error {
	if len(asked) == 0 {
		return nil
	}
	names, _, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	if err != nil {
		return err
	}
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return a.noEnvironment(ctx, "query.env", name, names)
		}
	}
	return nil
}

const (
	// maxRows is how many rows a CSV has at most.
	maxRows = 100_000
	// rowsEach is how many are read from the store at once.
	rowsEach = 5000
	// rowsTimeout is for each page of a CSV: to be read from the store, and taken by the client.
	rowsTimeout = 30 * time.Second
)

// column is a column of a CSV.
type column[D any] struct {
	name  string
	value func(D) string
}

// csvRows writes a list page by page. An error after the first page can only cut it off: the
// connection is closed, so that half a list does not look like a whole one.
func csvRows[P, S, D any](c huma.Context, l listing[P, S, D], p P, page store.Page, found store.List[S]) {
	r, rw := humago.Unwrap(c)
	q := requestOf(r.Context())
	control := http.NewResponseController(rw)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the next request of the connection has its own
	c.SetHeader("Content-Type", typeCSV+"; charset=utf-8; header=present")
	c.SetHeader("Content-Disposition", "attachment")
	c.SetStatus(http.StatusOK)
	out := csv.NewWriter(rw)
	record := make([]string, len(l.columns))
	for i, column := range l.columns {
		record[i] = column.name
	}
	_ = out.Write(record) // errors stay until Flush
	for rows := 0; ; {
		for _, item := range found.Items {
			if rows++; rows > maxRows {
				break
			}
			document := l.document(item)
			for i, column := range l.columns {
				record[i] = cell(column.value(document))
			}
			_ = out.Write(record)
		}
		_ = control.SetWriteDeadline(time.Now().Add(rowsTimeout)) // what has no connection has no deadline
		out.Flush()
		err := out.Error()
		if err == nil && (found.Next == "" || rows >= maxRows) {
			return
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(q.unlimited, rowsTimeout)
			page.After = found.Next
			found, err = l.read(ctx, p, page)
			cancel()
		}
		if err != nil {
			q.log.Warn("a CSV was cut off", "rows", rows, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// cell is a value that no spreadsheet takes for a formula: clusters and git have written it.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
