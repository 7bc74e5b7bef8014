package armfake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
)

// TestRefusals: the server takes only what Azure's documentation has.
func TestRefusals(t *testing.T) {
	s := armfake.Start(t, "sub")
	s.App("app", "x")
	flux := "https://management.azure.com" + s.Cluster("sub", "rg", "c").ConfigurationsID()
	const version, graph = "?api-version=2025-04-01", "https://management.azure.com/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01"
	app := s.Token("app", "https://management.core.windows.net/")
	for name, test := range map[string]struct {
		token, method, url, body string
		status                   int
		code                     string
	}{
		"no token":             {"", "GET", flux + version, "", 401, "AuthenticationFailed"},
		"a token of nobody's":  {"x", "GET", flux + version, "", 401, "InvalidAuthenticationToken"},
		"another audience":     {s.Token("app", "https://graph.microsoft.com"), "GET", flux + version, "", 401, "InvalidAuthenticationTokenAudience"},
		"another cloud":        {app, "GET", strings.Replace(flux, "azure.com", "usgovcloudapi.net", 1) + version, "", 401, "InvalidAuthenticationTokenAudience"},
		"no version":           {app, "GET", flux, "", 400, "MissingApiVersionParameter"},
		"unknown subscription": {app, "GET", strings.Replace(flux, "/sub/", "/nope/", 1) + version, "", 404, "SubscriptionNotFound"},
		"unknown group":        {app, "GET", strings.Replace(flux, "/rg/", "/nope/", 1) + version, "", 404, "ResourceGroupNotFound"},
		"unknown cluster":      {app, "GET", strings.Replace(flux, "/c/", "/nope/", 1) + version, "", 404, "ResourceNotFound"},
		"unknown name":         {app, "GET", flux + "/nope" + version, "", 404, "FluxConfigurationNotFound"},
		"no JSON":              {app, "PUT", flux + "/x" + version, `{`, 400, "InvalidRequestContent"},
		"unknown field":        {app, "PUT", flux + "/x" + version, `{"properties": {"gitRepo": {}}}`, 400, "InvalidRequestContent"},
		"unknown inner field":  {app, "PUT", flux + "/x" + version, `{"properties": {"kustomizations": {"a": {"folder": "x"}}}}`, 400, "InvalidRequestContent"},
		"wrong type":           {app, "PUT", flux + "/x" + version, `{"properties": {"suspend": "false"}}`, 400, "InvalidRequestContent"},
		"null":                 {app, "PUT", flux + "/x" + version, `{"properties": {"kustomizations": {"a": {"wait": null}}}}`, 400, "InvalidRequestContent"},
		"no such value":        {app, "PUT", flux + "/x" + version, `{"properties": {"scope": "all"}}`, 400, "ValidationFailed"},
		"read-only":            {app, "PUT", flux + "/x" + version, `{"properties": {"complianceState": "Compliant"}}`, 400, "InvalidRequestContent"},
		"scope in a patch":     {app, "PATCH", flux + "/x" + version, `{"properties": {"scope": "cluster"}}`, 400, "InvalidRequestContent"},
		"unknown query":        {app, "POST", graph, `{"subscriptions": ["sub"], "query": "resources | summarize count()", "options": {"$top": 1}}`, 400, "InvalidQuery"},
		"wrong method":         {app, "DELETE", strings.Split(flux, "/providers/Microsoft.KubernetesC")[0] + "?api-version=2024-01-01", "", 405, "MethodNotAllowed"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), test.method, test.url, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		if test.token != "" {
			q.Header.Set("Authorization", "Bearer "+test.token)
		}
		answer, err := s.Transport().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		var said struct{ Error struct{ Code string } }
		if err != nil || json.Unmarshal(b, &said) != nil || answer.StatusCode != test.status || said.Error.Code != test.code {
			t.Errorf("%s: %d %s", name, answer.StatusCode, b)
		}
	}
}
