package arc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// GraphResult is the answer to a query of Azure Resource Graph.
type GraphResult struct {
	TotalRecords int64             `json:"totalRecords"`
	Count        int64             `json:"count"`
	Data         []json.RawMessage `json:"data"`
	SkipToken    string            `json:"$skipToken,omitempty"`
	Truncated    string            `json:"resultTruncated,omitempty"` // "true" or "false"
}

const (
	graphPath = "/providers/Microsoft.ResourceGraph/resources"
	graphPage = 1000
)

// Query asks Azure Resource Graph one page of at most first rows, of all that
// the fleet's subscriptions have; skipToken is that of the page before.
//
// The graph is an index: what it says can be a few minutes behind the
// resources themselves. And it has only what the account may read.
func (c *Client) Query(ctx context.Context, query string, first int, skipToken string) (*GraphResult, error) {
	options := map[string]any{"resultFormat": "objectArray", "$top": first}
	if skipToken != "" {
		options["$skipToken"] = skipToken
	}
	r, err := c.request(ctx, http.MethodPost, graphPath, graphVersion, map[string]any{
		"subscriptions": c.fleet, "query": query, "options": options,
	})
	if err != nil {
		return nil, err
	}
	var out GraphResult
	if err := c.call(r, &out); err != nil {
		return nil, fmt.Errorf("query of the resource graph: %w", err)
	}
	return &out, nil
}

// queryAll reads all pages. An answer that is cut off, or that has fewer rows
// than it says there are, is an error.
func (c *Client) queryAll(ctx context.Context, query string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	token, followed := "", map[string]bool{}
	for {
		page, err := c.Query(ctx, query, graphPage, token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		token = page.SkipToken
		switch {
		case token != "" && followed[token]:
			return nil, fmt.Errorf("query of the resource graph: its pages lead in a circle after %d rows", len(all))
		case token != "":
			followed[token] = true
		case strings.EqualFold(page.Truncated, "true") || int64(len(all)) < page.TotalRecords:
			return nil, fmt.Errorf("query of the resource graph: %d rows came of %d, and the rest cannot be had: a part of the fleet tells nothing about all of it; ask again, or for fewer subscriptions", len(all), page.TotalRecords)
		default:
			return all, nil
		}
	}
}

// quoted is a string literal of the graph's query language.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}
