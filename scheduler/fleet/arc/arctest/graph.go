package arctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// graphQuery is a query (docs: rest/api/azureresourcegraph/resourcegraph/resources).
type graphQuery struct {
	Subscriptions    []string `json:"subscriptions"`
	ManagementGroups []string `json:"managementGroups"`
	Query            string   `json:"query"`
	Options          struct {
		SkipToken           string `json:"$skipToken"`
		Top                 int    `json:"$top"`
		Skip                int    `json:"$skip"`
		ResultFormat        string `json:"resultFormat"`
		AllowPartialScopes  bool   `json:"allowPartialScopes"`
		AuthorizationFilter string `json:"authorizationScopeFilter"`
	} `json:"options"`
}

// graph serves the Resource Graph. It leaves out what the account may not read,
// without a word (docs: azure/governance/resource-graph/overview, "Permissions").
func (s *Server) graph(w http.ResponseWriter, q *http.Request, app string) *refusal {
	var query graphQuery
	d := json.NewDecoder(q.Body)
	d.DisallowUnknownFields()
	switch err := d.Decode(&query); {
	case q.Method != http.MethodPost:
		return notAllowed(q)
	case err != nil:
		return badRequest("Please provide a valid request: " + err.Error())
	case query.Options.Top < 1 || query.Options.Top > 1000:
		return badRequest("The value of $top is not between 1 and 1000.")
	}
	if s.quota == 0 {
		w.Header().Set("x-ms-user-quota-remaining", "0")
		w.Header().Set("x-ms-user-quota-resets-after", "00:00:01")
		s.quota = 15
		return refuse(http.StatusTooManyRequests, "RateLimiting", "Please provide below info when asking for support: too many requests.")
	}
	if s.quota > 0 {
		s.quota--
		w.Header().Set("x-ms-user-quota-remaining", strconv.Itoa(s.quota))
		w.Header().Set("x-ms-user-quota-resets-after", "00:00:01")
		if s.quota == 0 {
			s.quota = 15 // once they are filled up
		}
	}
	keep, no := parse(query.Query)
	if no != nil {
		return no
	}
	var rows []object
	visible := false
	for _, id := range query.Subscriptions {
		if _, no := s.known(app, id); no != nil {
			continue
		}
		visible = true
		for _, c := range sorted(s.configurations, func(key string) bool { return strings.HasPrefix(key, "/subscriptions/"+strings.ToLower(id)+"/") }) {
			if s.may(app, "Microsoft.KubernetesConfiguration/fluxConfigurations/read", c.id) && keep(c) {
				rows = append(rows, c.shown())
			}
		}
	}
	if !visible {
		return refuse(http.StatusForbidden, "AccessDenied", "Access is denied to the requested resource. The user might not have enough permission.")
	}
	return s.graphPage(w, query, rows)
}

func (s *Server) graphPage(w http.ResponseWriter, query graphQuery, rows []object) *refusal {
	from := query.Options.Skip
	if query.Options.SkipToken != "" {
		var err error
		if from, err = strconv.Atoi(query.Options.SkipToken); err != nil || from > len(rows) {
			return badRequest("The skip token is invalid.")
		}
	}
	to := min(from+query.Options.Top, from+s.pageSize, len(rows))
	body := object{"totalRecords": len(rows), "count": to - from, "data": append([]object{}, rows[from:to]...), "facets": []any{}, "resultTruncated": "false"}
	if to < len(rows) {
		body["resultTruncated"], body["$skipToken"] = "true", strconv.Itoa(to)
	}
	write(w, http.StatusOK, body)
	return nil
}

var (
	branchIs = regexp.MustCompile(`^where properties\.gitRepository\.repositoryRef\.branch == '((?:[^'\\]|\\.)*)'$`)
	unescape = strings.NewReplacer(`\\`, `\`, `\'`, `'`)
)

// parse reads the one kind of query that there is here. To part of a query there
// is no answer.
func parse(query string) (keep func(*configuration) bool, no *refusal) {
	branch, any := "", true
	for i, part := range strings.Split(query, " | ") {
		m := branchIs.FindStringSubmatch(part)
		switch {
		case i == 0 && part == "kubernetesconfigurationresources", part == "where type == 'microsoft.kubernetesconfiguration/fluxconfigurations'",
			part == "project id, name, properties", part == "order by id asc":
		case m != nil:
			branch, any = unescape.Replace(m[1]), false
		default:
			return nil, refuse(http.StatusBadRequest, "InvalidQuery", fmt.Sprintf("Query is invalid at '%s'.", part))
		}
	}
	return func(c *configuration) bool {
		git, _ := c.properties["gitRepository"].(object)
		ref, _ := git["repositoryRef"].(object)
		return any || ref["branch"] == branch
	}, nil
}
