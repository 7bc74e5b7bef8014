package arctest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc/arctest"
)

// TestRefusals: the server takes only what Azure's documentation has.
func TestRefusals(t *testing.T) {
	s := arctest.Start(t)
	s.App("writer", "x")
	s.App("reader", "x")
	s.Subscription("sub")
	s.Subscription("other")
	s.Unregister("other")
	s.Allow("writer", arctest.Contributor, "/subscriptions/sub")
	s.Allow("writer", arctest.Contributor, "/subscriptions/other")
	s.Allow("reader", arctest.Reader, "/subscriptions/sub/resourceGroups/rg")
	flux := "https://management.azure.com" + s.Cluster("sub", "rg", "c") + "/providers/Microsoft.KubernetesConfiguration/fluxConfigurations"
	elsewhere := "https://management.azure.com" + s.Cluster("other", "rg", "c") + "/providers/Microsoft.KubernetesConfiguration/fluxConfigurations"
	const version, graph = "?api-version=2025-04-01", "https://management.azure.com/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01"
	const audience = "https://management.core.windows.net/"
	writer, reader := s.Token("writer", audience), s.Token("reader", audience)
	for name, test := range map[string]struct {
		token, method, url, body string
		status                   int
		code                     string
	}{
		"no token":             {"", "GET", flux + version, "", 401, "AuthenticationFailed"},
		"a token of nobody's":  {"x", "GET", flux + version, "", 401, "InvalidAuthenticationToken"},
		"another audience":     {s.Token("writer", "https://graph.microsoft.com"), "GET", flux + version, "", 401, "InvalidAuthenticationTokenAudience"},
		"another cloud":        {writer, "GET", strings.Replace(flux, "azure.com", "usgovcloudapi.net", 1) + version, "", 401, "InvalidAuthenticationTokenAudience"},
		"no version":           {writer, "GET", flux, "", 400, "MissingApiVersionParameter"},
		"unknown version":      {writer, "GET", flux + "?api-version=2020-01-01", "", 400, "InvalidResourceType"},
		"unknown provider":     {writer, "GET", "https://management.azure.com/subscriptions/sub/providers/Microsoft.X/y" + version, "", 404, "InvalidResourceNamespace"},
		"unknown subscription": {writer, "GET", strings.Replace(flux, "/sub/", "/nope/", 1) + version, "", 404, "SubscriptionNotFound"},
		"unknown group":        {writer, "GET", strings.Replace(flux, "/rg/", "/nope/", 1) + version, "", 404, "ResourceGroupNotFound"},
		"unknown cluster":      {writer, "GET", strings.Replace(flux, "/c/", "/nope/", 1) + version, "", 404, "ResourceNotFound"},
		"unknown name":         {writer, "GET", flux + "/nope" + version, "", 404, "FluxConfigurationNotFound"},
		"not registered":       {writer, "GET", elsewhere + version, "", 409, "MissingSubscriptionRegistration"},
		"no role":              {reader, "PUT", flux + "/x" + version, `{"properties": {}}`, 403, "AuthorizationFailed"},
		"no JSON":              {writer, "PUT", flux + "/x" + version, `{`, 400, "InvalidRequestContent"},
		"unknown field":        {writer, "PUT", flux + "/x" + version, `{"properties": {"gitRepo": {}}}`, 400, "InvalidRequestContent"},
		"unknown inner field":  {writer, "PUT", flux + "/x" + version, `{"properties": {"kustomizations": {"a": {"Path": "x"}}}}`, 400, "InvalidRequestContent"},
		"wrong type":           {writer, "PUT", flux + "/x" + version, `{"properties": {"suspend": "false"}}`, 400, "InvalidRequestContent"},
		"null":                 {writer, "PUT", flux + "/x" + version, `{"properties": {"kustomizations": {"a": {"wait": null}}}}`, 400, "InvalidRequestContent"},
		"no such value":        {writer, "PUT", flux + "/x" + version, `{"properties": {"scope": "all"}}`, 400, "InvalidRequestContent"},
		"read-only":            {writer, "PUT", flux + "/x" + version, `{"properties": {"complianceState": "Compliant"}}`, 400, "InvalidRequestContent"},
		"scope in a patch":     {writer, "PATCH", flux + "/x" + version, `{"properties": {"scope": "cluster"}}`, 404, "FluxConfigurationNotFound"},
		"unknown graph field":  {writer, "POST", graph, `{"query": "kubernetesconfigurationresources", "top": 1}`, 400, "InvalidRequestContent"},
		"unknown query":        {writer, "POST", graph, `{"subscriptions": ["sub"], "query": "resources | summarize count()", "options": {"$top": 1}}`, 400, "InvalidQuery"},
		"graph of others":      {s.Token("nobody", audience), "POST", graph, `{"subscriptions": ["sub"], "query": "kubernetesconfigurationresources", "options": {"$top": 1}}`, 403, "AccessDenied"},
		"wrong method":         {writer, "DELETE", strings.Split(flux, "/providers/Microsoft.KubernetesC")[0] + "?api-version=2024-01-01", "", 405, "MethodNotAllowed"},
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
