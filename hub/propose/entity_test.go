package propose_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/propose"
)

const small = "/environments/dev/clustertypes/small"

func TestEntities(t *testing.T) {
	h := newHub(t)
	a := h.do(http.MethodGet, small, nil)
	e := read[propose.Entity](h, http.StatusOK, a)
	if e.Kind != "ClusterType" || e.File != "cluster-types.yaml" || e.Line != 1 || a.Header.Get("Etag") != `"`+h.forge.Branch(control, "dev")+`"` || !strings.Contains(e.YAML, "# it flies") || strings.Contains(e.YAML, "---") || strings.Contains(e.YAML, "large") {
		t.Errorf("%+v", e)
	}
	if base := read[propose.Entity](h, http.StatusOK, h.do(http.MethodGet, "/environments/dev/templates/flux", nil)); base.Branch != "main" || base.File != "templates.yaml" {
		t.Errorf("%+v", base)
	}
	if config := read[propose.Entity](h, http.StatusOK, h.do(http.MethodGet, "/environments/dev/configs/region", nil)); strings.Contains(config.YAML, "hunter2") || !strings.Contains(config.YAML, "DB_PASSWORD: REDACTED") || !strings.Contains(config.YAML, "REGION: west # where it is") {
		t.Errorf("%s", config.YAML)
	}

	h.forge.Push(control, "dev", map[string]string{"more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, labels: {platform-config: \"true\"}}\ndata:\n  FILES: |\n    a: 1\n    ---\n    db: {password: hunter2-hunter2}\n"})
	h.seen()
	if more := h.do(http.MethodGet, "/environments/dev/configs/more", nil); more.StatusCode != http.StatusOK || bytes.Contains(more.body, []byte("hunter2")) || !bytes.Contains(more.body, []byte("a: 1")) {
		t.Errorf("the second document of a value: %s: %s", more.Status, more.body)
	}
	a = h.do(http.MethodGet, small, nil)

	e.Object["metadata"].(object)["labels"].(object)["gpu"] = "true"
	dry := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPut, small+"?dryRun=true", e.Object))
	if len(dry.Source.Files) != 1 || !strings.Contains(dry.Source.Files[0].Diff, "+    gpu: \"true\"\n") || strings.Contains(dry.Source.Files[0].Diff, "-  ") || len(h.pulls()) != 0 {
		t.Errorf("%+v", dry.Source)
	}
	put := read[propose.Proposal](h, http.StatusAccepted, h.do(http.MethodPut, small, e.Object, "If-Match", a.Header.Get("Etag")))
	again := read[propose.Proposal](h, http.StatusAccepted, h.do(http.MethodPut, small, e.Object))
	if put.URL != again.URL || len(h.pulls()) != 1 || put.Title != "Change ClusterType small" {
		t.Errorf("%+v, %+v", put, again)
	}
	if same := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPut, small, e.YAML, "Content-Type", "application/yaml")); same.Changed || same.UnchangedBecause == "" {
		t.Errorf("%+v", same)
	}
	patch := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPatch, small+"?dryRun=true", `{"metadata":{"labels":{"edge":null}}}`, "Content-Type", "application/merge-patch+json"))
	if names(patch.Assignments.Lost) != "small/shop-near" || !strings.Contains(patch.Source.Files[0].Diff, "-    edge: \"true\" # for now\n") {
		t.Errorf("%+v", patch)
	}
	// a patch is made of the object as it is, though the hub has not looked since
	types := h.forge.Files(control, "dev")["cluster-types.yaml"]
	h.forge.Push(control, "dev", map[string]string{"cluster-types.yaml": strings.Replace(types, "    size: small\n", "    size: tiny\n", 1)})
	fresh := read[propose.Proposal](h, http.StatusAccepted, h.do(http.MethodPatch, small, `{"metadata":{"labels":{"fast":"true"}}}`, "Content-Type", "application/merge-patch+json"))
	if got := h.forge.Files(control, fresh.Branch)["cluster-types.yaml"]; !strings.Contains(got, "size: tiny") || !strings.Contains(got, "fast: ") {
		t.Errorf("%s", got)
	}
	if gone := read[propose.Plan](h, http.StatusOK, h.do(http.MethodDelete, "/environments/dev/policies/edge?dryRun=true", nil)); names(gone.Assignments.Lost) != "small/shop-near" || gone.Source.Files[0].Change != "removed" {
		t.Errorf("%+v", gone)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		location           string
		headers            []string
	}{
		{http.MethodGet, "/environments/dev/clustertypes/smal", "", 404, "path.name", nil},
		{http.MethodGet, "/environments/dev/clustertype/small", "", 422, "path.kind", nil},
		{http.MethodGet, "/environments/deb/clustertypes/small", "", 404, "path.env", nil},
		{http.MethodPut, small, "{", 400, "body", nil},
		{http.MethodPut, small, `{"kind":"ClusterType"}`, 422, "body", nil},
		{http.MethodPut, small, `{"apiVersion":"scheduler.kalypso.io/v1alpha1","kind":"ClusterType","metadata":{"name":"large"},"spec":{}}`, 422, "body", nil},
		{http.MethodPut, small, "a", 415, "", []string{"Content-Type", "text/plain"}},
		{http.MethodPatch, small, `{"metadata":{"labels":{"a b":"c"}}}`, 422, "body", nil},
		{http.MethodPatch, "/environments/dev/clustertypes/smal", `{}`, 404, "path.name", nil},
		{http.MethodDelete, "/environments/dev/policies/egde", "", 404, "body", nil},
		{http.MethodDelete, "/environments/dev/policies/edge", "", 412, "header.If-Match", []string{"If-Match", `"` + strings.Repeat("0", 40) + `"`}},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		if a := h.do(c.method, c.path, body, c.headers...); a.StatusCode != c.status || a.location() != c.location {
			t.Errorf("%s %s %s: %s, %s: %s", c.method, c.path, c.body, a.Status, a.location(), a.body)
		}
	}
}

const rollout = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Rollout
metadata: {name: small}
spec:
  clusterType: small
  maxFailures: 5%
  windows:
    - {days: [Mon, Tue], from: "09:00", to: "16:00", timeZone: Europe/Berlin}
  waves:
    - {name: canary, clusters: 1, soak: 30m}
    - {name: north, selector: {matchLabels: {region: north}}, soak: 1h30m}
    - {name: all}
`

// TestSchemas holds the objects of the platform to the schemas of their kinds.
func TestSchemas(t *testing.T) {
	h := newHub(t)
	all := read[api.List[propose.Described]](h, http.StatusOK, h.do(http.MethodGet, "/schemas", nil))
	if len(all.Items) != 9 {
		t.Errorf("%d schemas", len(all.Items))
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, one := range all.Items {
		text := read[json.RawMessage](h, http.StatusOK, h.do(http.MethodGet, "/schemas/"+one.Kind, nil))
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("schema.json", document); err != nil {
			t.Fatal(err)
		}
		if compiled[one.Plural], err = compiler.Compile("schema.json"); err != nil {
			t.Errorf("%s: %v", one.Kind, err)
		}
	}
	h.forge.Push(control, "dev", map[string]string{"rollout.yaml": rollout})
	h.seen()
	for _, name := range []string{"rollouts/small", "clustertypes/small", "policies/edge", "configs/region", "templates/flux", "registrations/shop", "baserepos/main", "gitopsrepos/dev"} {
		plural, _, _ := strings.Cut(name, "/")
		e := read[propose.Entity](h, http.StatusOK, h.do(http.MethodGet, "/environments/dev/"+name, nil))
		value := func() any {
			text, err := json.Marshal(e.Object)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			return decoded
		}
		if err := compiled[plural].Validate(value()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e.Object["spec"] != nil {
			e.Object["spec"] = object{"unknown": true}
			if compiled[plural].Validate(value()) == nil {
				t.Errorf("%s: a field that there is not is valid", name)
			}
		}
	}
	for _, wrong := range [][2]string{{"101%", "5%"}, {"clusters: -1", "clusters: 1"}, {"soak: 30", "soak: 30m"}, {"Mo,", "Mon,"}, {"24:01", "16:00"}} {
		value, err := yaml.YAMLToJSON([]byte(strings.Replace(rollout, wrong[1], wrong[0], 1)))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		if compiled["rollouts"].Validate(decoded) == nil {
			t.Errorf("%q in place of %q is valid", wrong[0], wrong[1])
		}
	}
	if a := h.do(http.MethodGet, "/schemas/clustertyp", nil); a.StatusCode != http.StatusNotFound || !strings.Contains(a.problem().Hint, "ClusterType") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}
