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
}

const graphPage = 1000

// Query asks Azure Resource Graph one page of at most first rows, of all that
// the subscription has; skipToken is that of the page before.
//
// The graph is an index: what it says can be a few minutes behind the
// resources themselves.
func (c *Client) Query(ctx context.Context, query string, first int, skipToken string) (*GraphResult, error) {
	options := map[string]any{"resultFormat": "objectArray", "$top": first}
	if skipToken != "" {
		options["$skipToken"] = skipToken
	}
	r, err := c.request(ctx, http.MethodPost, "/providers/Microsoft.ResourceGraph/resources", graphVersion, map[string]any{
		"subscriptions": []string{c.subscription}, "query": query, "options": options,
	})
	if err != nil {
		return nil, err
	}
	var out GraphResult
	if err := c.call(r, &out, http.StatusOK); err != nil {
		return nil, fmt.Errorf("query of the resource graph: %w", err)
	}
	return &out, nil
}

// queryAll reads all pages.
func (c *Client) queryAll(ctx context.Context, query string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	token := ""
	for {
		page, err := c.Query(ctx, query, graphPage, token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if token = page.SkipToken; token == "" {
			return all, nil
		}
	}
}

// quoted is a string literal of the graph's query language.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}
