package api

import (
	"context"
	"encoding/csv"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/hub/store"
)

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
