package arc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

const graphPage = 1000

// graphRequest is a query of Azure Resource Graph
// (learn.microsoft.com/rest/api/azureresourcegraph).
type graphRequest struct {
	Query         string   `json:"query"`
	Subscriptions []string `json:"subscriptions"`
	Options       struct {
		Top       int    `json:"$top"`
		Skip      int    `json:"$skip"`
		SkipToken string `json:"$skipToken"`
	} `json:"options"`
}

func (s *server) graph(r *http.Request) (*answer, error) {
	if r.Method != http.MethodPost {
		return nil, wrongMethod(r)
	}
	var q graphRequest
	if err := decode(r, &q); err != nil {
		return nil, err
	}
	query, err := parseQuery(q.Query)
	if err != nil {
		return nil, errorf(http.StatusBadRequest, "InvalidQuery", "The query is invalid: %s.", err)
	}
	var rows []any
	if s.asked(q.Subscriptions) {
		if rows, err = s.table(r.Context(), query.table); err != nil {
			return nil, err
		}
	}
	rows = query.run(rows)

	skip, top := q.Options.Skip, q.Options.Top
	if q.Options.SkipToken != "" {
		if skip, err = readToken(q.Options.SkipToken); err != nil {
			return nil, errorf(http.StatusBadRequest, "InvalidSkipToken", "The skip token is invalid.")
		}
	}
	if top <= 0 || top > graphPage {
		top = graphPage
	}
	skip = min(max(skip, 0), len(rows))
	end := min(skip+top, len(rows))
	page := append([]any{}, rows[skip:end]...)
	body := map[string]any{
		"totalRecords": len(rows), "count": len(page), "data": page, "facets": []any{}, "resultTruncated": "false",
	}
	if end < len(rows) {
		body["resultTruncated"] = "true"
		body["$skipToken"] = writeToken(end)
	}
	return ok(body), nil
}

// asked tells whether our subscription is among those that a query is about;
// none named means all.
func (s *server) asked(subscriptions []string) bool {
	for _, one := range subscriptions {
		if strings.EqualFold(one, s.Subscription) {
			return true
		}
	}
	return len(subscriptions) == 0
}

// table has the rows of a table of the graph.
func (s *server) table(ctx context.Context, name string) ([]any, error) {
	var rows []any
	for _, cluster := range s.Clusters.Names() {
		if name == tableClusters {
			row, err := s.row(s.connected(ctx, cluster))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			continue
		}
		all, _, err := s.look(ctx, cluster)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			row, err := s.row(c)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// row is a resource as the graph has it: types and groups in lower case.
func (s *server) row(resource any) (map[string]any, error) {
	b, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	var row map[string]any
	if err := json.Unmarshal(b, &row); err != nil {
		return nil, err
	}
	kind, _ := row["type"].(string)
	row["type"] = strings.ToLower(kind)
	row["resourceGroup"] = strings.ToLower(s.ResourceGroup)
	row["subscriptionId"] = s.Subscription
	row["tenantId"] = s.Tenant
	return row, nil
}

func writeToken(offset int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(offset)))
}

func readToken(token string) (int, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(b))
}
