package arc

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

func TestErrorsAreARMsOwn(t *testing.T) {
	w := newFixture(t)
	const good = `{"properties": {"gitRepository": {"url": "http://x/y", "repositoryRef": {"branch": "dev"}}, "kustomizations": {"a": {"path": "p"}}}}`
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"no version":             {"GET", configurations, "", 400, "MissingApiVersionParameter"},
		"no such version":        {"GET", configurations + "?api-version=1", "", 400, "InvalidApiVersionParameter"},
		"no such subscription":   {"GET", strings.Replace(configurations, subscription, "other", 1) + version, "", 404, "SubscriptionNotFound"},
		"no such group":          {"GET", strings.Replace(configurations, group, "other", 1) + version, "", 404, "ResourceGroupNotFound"},
		"no such cluster":        {"GET", strings.Replace(configurations, "drone", "other", 1) + version, "", 404, "ResourceNotFound"},
		"no such configuration":  {"GET", configurations + "/other" + version, "", 404, "FluxConfigurationNotFound"},
		"patch of nothing":       {"PATCH", configurations + "/other" + version, "{}", 404, "FluxConfigurationNotFound"},
		"no such type":           {"GET", base1 + "/providers/Microsoft.Other/things" + version, "", 404, "InvalidResourceType"},
		"provider of the other":  {"GET", strings.Replace(configurations, "Microsoft.Kubernetes/", "Microsoft.ContainerService/", 1) + version, "", 404, "InvalidResourceType"},
		"nothing":                {"GET", "/" + version, "", 400, "InvalidRequestUri"},
		"no such operation":      {"GET", configurations + "/a/operations/other" + version, "", 404, "OperationNotFound"},
		"method":                 {"POST", configurations + version, "", 405, "MethodNotAllowed"},
		"not JSON":               {"PUT", configurations + "/a" + version, "{", 400, "InvalidRequestContent"},
		"no properties":          {"PUT", configurations + "/a" + version, "{}", 400, "InvalidRequestContent"},
		"name":                   {"PUT", configurations + "/A_b" + version, good, 400, "ValidationFailed"},
		"no source":              {"PUT", configurations + "/a" + version, `{"properties": {}}`, 400, "ValidationFailed"},
		"url":                    {"PUT", configurations + "/a" + version, with("http://x/y", "ftp://x"), 400, "ValidationFailed"},
		"no reference":           {"PUT", configurations + "/a" + version, with(`"branch": "dev"`, ""), 400, "ValidationFailed"},
		"two references":         {"PUT", configurations + "/a" + version, with(`"branch": "dev"`, `"branch": "dev", "tag": "v1"`), 400, "ValidationFailed"},
		"scope":                  {"PUT", configurations + "/a" + version, with(`"gitRepository"`, `"scope": "all", "gitRepository"`), 400, "ValidationFailed"},
		"namespace":              {"PUT", configurations + "/a" + version, with(`"gitRepository"`, `"namespace": "A b", "gitRepository"`), 400, "ValidationFailed"},
		"kind":                   {"PUT", configurations + "/a" + version, with(`"gitRepository"`, `"sourceKind": "Bucket", "gitRepository"`), 400, "ValidationFailed"},
		"dependency":             {"PUT", configurations + "/a" + version, with(`"path": "p"`, `"dependsOn": ["b"]`), 400, "ValidationFailed"},
		"long names":             {"PUT", configurations + "/" + strings.Repeat("a", 62) + version, good, 400, "ValidationFailed"},
		"secret not in base64":   {"PUT", configurations + "/a" + version, with(`"gitRepository"`, `"configurationProtectedSettings": {"httpsKey": "!"}, "gitRepository"`), 400, "ValidationFailed"},
		"query of another table": {"POST", "/providers/Microsoft.ResourceGraph/resources" + version, `{"query": "secrets"}`, 400, "InvalidQuery"},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := w.request(t, c.method, c.path, c.body)
			e, _ := body["error"].(map[string]any)
			if response.StatusCode != c.status || e["code"] != c.code || e["message"] == "" {
				t.Errorf("%s %v", response.Status, body)
			}
		})
	}
	if names := w.api.Paths(); len(names) > 0 {
		t.Errorf("refused, and yet made: %q", names)
	}
}

func TestSubscription(t *testing.T) {
	w := newFixture(t)
	response, body := w.request(t, "GET", "/subscriptions/"+strings.ToUpper(subscription)+version, "")
	if response.StatusCode != 200 || body["subscriptionId"] != subscription || body["id"] != "/subscriptions/"+subscription || body["state"] != "Enabled" {
		t.Errorf("%s %v", response.Status, body)
	}
	for path, code := range map[string]string{"/subscriptions/other": "SubscriptionNotFound", "/subscriptions": "InvalidResourceType"} {
		if response, body := w.request(t, "GET", path+version, ""); response.StatusCode != 404 || body["error"].(map[string]any)["code"] != code {
			t.Errorf("%s: %s %v", path, response.Status, body)
		}
	}
}

func TestScopeAndNamespaceStay(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*armapi.Properties){
		func(p *armapi.Properties) { p.Scope = "namespace" },
		func(p *armapi.Properties) { p.Namespace = "other" },
	} {
		p := wanted()
		change(&p)
		if _, err := w.arm.Put(t.Context(), drone, "platform-qa", p, true); err == nil || !strings.Contains(client.Message(err), "cannot be changed") {
			t.Errorf("%v", err)
		}
	}
}

func TestTokenIsChecked(t *testing.T) {
	w := newFixture(t)
	for header, code := range map[string]string{
		"": "AuthenticationFailed", "Bearer ": "AuthenticationFailed", "Basic " + token: "AuthenticationFailed", "Bearer other": "InvalidAuthenticationToken",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+configurations+version, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Error struct{ Code string } }
		err = json.NewDecoder(response.Body).Decode(&body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusUnauthorized || body.Error.Code != code || response.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %s %+v %v", header, response.Status, body, err)
		}
	}
	other, err := client.Settings{Endpoint: w.url, Token: "other", Subscription: subscription}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.List(t.Context(), drone); !client.IsDenied(err) {
		t.Errorf("%v", err)
	}
}

func TestPutAnswersAsARMDoes(t *testing.T) {
	w := newFixture(t)
	b, err := json.Marshal(map[string]any{"properties": wanted()})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		status int
		state  string
	}{{http.StatusCreated, "Creating"}, {http.StatusOK, "Updating"}} {
		response, body := w.request(t, http.MethodPut, configurations+"/platform-qa"+version, string(b))
		properties, _ := body["properties"].(map[string]any)
		if response.StatusCode != want.status || properties["provisioningState"] != want.state || body["type"] != armapi.ConfigurationType {
			t.Fatalf("%d: %s %v", i, response.Status, body)
		}
		if _, shown := properties["configurationProtectedSettings"]; shown || strings.Contains(string(mustJSON(t, body)), "czNjcmV0") {
			t.Errorf("the secret is shown: %v", properties)
		}
		operation := response.Header.Get("Azure-AsyncOperation")
		if !strings.HasPrefix(operation, w.url+configurations+"/platform-qa/operations/") {
			t.Fatalf("operation %q", operation)
		}
		_, status := w.request(t, http.MethodGet, strings.TrimPrefix(operation, w.url), "")
		if _, failed := status["error"]; failed || status["status"] != "Succeeded" {
			t.Errorf("%v", status)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The fields that ARM's documentation shows, also those that are null.
func TestShapeOfAConfiguration(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, foreign)
	_, body := w.request(t, http.MethodGet, configurations+"/platform-dev"+version, "")
	properties := body["properties"].(map[string]any)
	var got []string
	for _, key := range []string{"scope", "namespace", "sourceKind", "suspend", "gitRepository", "kustomizations", "statuses", "repositoryPublicKey", "sourceSyncedCommitId", "sourceUpdatedAt", "statusUpdatedAt", "complianceState", "provisioningState", "errorMessage"} {
		if _, there := properties[key]; !there {
			got = append(got, key)
		}
	}
	repository := properties["gitRepository"].(map[string]any)
	for _, key := range []string{"url", "timeoutInSeconds", "syncIntervalInSeconds", "repositoryRef", "httpsUser", "httpsCACert", "sshKnownHosts", "localAuthRef"} {
		if _, there := repository[key]; !there {
			got = append(got, "gitRepository."+key)
		}
	}
	if len(got) > 0 {
		t.Errorf("missing: %q", got)
	}
	if diff := cmp.Diff(map[string]any{"branch": "dev", "tag": nil, "semver": nil, "commit": nil}, repository["repositoryRef"]); diff != "" {
		t.Error(diff)
	}
}

func TestResourcesOfAGroup(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{group, strings.ToUpper(group), ""} {
		all, err := w.arm.ListResources(t.Context(), of)
		if err != nil || len(all) != 1 || all[0]["id"] != base1 || all[0]["type"] != "Microsoft.Kubernetes/connectedClusters" || all[0]["location"] == "" {
			t.Errorf("%q: %v %v", of, all, err)
		}
	}
	if _, err := w.arm.ListResources(t.Context(), "other"); !client.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	of := "/subscriptions/" + subscription + "/resourceGroups/" + group + "/resources"
	for path, status := range map[string]int{
		of + version: http.StatusOK,
		of:           http.StatusBadRequest,
		of + version + "&$filter=name%20eq%20'x'":    http.StatusBadRequest,
		of + "/more" + version:                       http.StatusNotFound,
		"/subscriptions/other/resources" + version:   http.StatusNotFound,
		strings.Replace(of, group, "x", 1) + version: http.StatusNotFound,
	} {
		if response, body := w.request(t, http.MethodGet, path, ""); response.StatusCode != status {
			t.Errorf("%s: %s %v", path, response.Status, body)
		}
	}
	if response, _ := w.request(t, http.MethodPost, of+version, ""); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%s", response.Status)
	}
}

// Clusters are connected ones, whatever their configurations are kept as.
func TestNoManagedCluster(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"drone", "other"} {
		_, err := w.arm.ManagedCluster(t.Context(), group, name)
		if !client.IsNotFound(err) || !strings.HasPrefix(client.Message(err), "(ResourceNotFound) The Resource 'Microsoft.ContainerService/managedClusters/"+name+"'") {
			t.Errorf("%v", err)
		}
	}
}
