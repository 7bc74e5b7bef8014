package armemulator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
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
		return nil, Errorf(http.StatusBadRequest, "InvalidQuery", "The query is invalid: %s.", err)
	}
	rows, err := s.table(r.Context(), query.table, q.Subscriptions)
	if err != nil {
		return nil, err
	}
	rows = query.run(rows)

	skip, top := q.Options.Skip, q.Options.Top
	if q.Options.SkipToken != "" {
		if skip, err = readToken(q.Options.SkipToken); err != nil {
			return nil, Errorf(http.StatusBadRequest, "InvalidSkipToken", "The skip token is invalid.")
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

// table has the rows of a table of the graph in the subscriptions; none named
// means all.
func (s *server) table(ctx context.Context, name string, subscriptions []string) ([]any, error) {
	var rows []any
	for _, c := range s.Backend.Clusters() {
		if len(subscriptions) > 0 && !slices.ContainsFunc(subscriptions, func(id string) bool { return strings.EqualFold(id, c.Subscription) }) {
			continue
		}
		var resources []any
		if name == tableClusters {
			resources = []any{s.Backend.Describe(ctx, c)}
		} else {
			all, err := s.Backend.Configurations(ctx, c)
			if err != nil {
				return nil, err
			}
			for _, one := range all {
				resources = append(resources, one)
			}
		}
		for _, one := range resources {
			row, err := s.row(c, one)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// row is a resource as the graph has it: types and groups in lower case.
func (s *server) row(c armapi.Cluster, resource any) (map[string]any, error) {
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
	row["resourceGroup"] = strings.ToLower(c.ResourceGroup)
	row["subscriptionId"] = c.Subscription
	if in := s.subscription(c.Subscription); in != nil {
		row["tenantId"] = in.Tenant
	}
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
