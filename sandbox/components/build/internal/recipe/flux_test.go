package recipe

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gitrepositories.source.toolkit.fluxcd.io
spec:
  group: source.toolkit.fluxcd.io
  names: {kind: GitRepository, plural: gitrepositories}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {url: {type: string}}}}
`

type versioned struct {
	Spec struct {
		Conversion struct{ Strategy string }
		Versions   []struct {
			Name               string
			Served, Storage    bool
			Deprecated         bool
			DeprecationWarning string
			Schema             map[string]any
			Subresources       map[string]any
		}
	}
}

func TestServeOldVersion(t *testing.T) {
	out, err := serveOldVersion([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	var got versioned
	if err := yaml.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.Conversion.Strategy != "None" || len(got.Spec.Versions) != 2 {
		t.Fatalf("conversion and versions are %+v", got.Spec)
	}
	stored, old := got.Spec.Versions[0], got.Spec.Versions[1]
	if stored.Name != "v1" || !stored.Served || !stored.Storage || stored.Deprecated {
		t.Errorf("the stored version is %+v", stored)
	}
	if old.Name != "v1beta2" || !old.Served || old.Storage || !old.Deprecated {
		t.Errorf("the old version is %+v", old)
	}
	if old.Schema["openAPIV3Schema"] == nil || old.Subresources["status"] == nil {
		t.Error("the old version lacks schema or status")
	}
	for _, word := range []string{"source.toolkit.fluxcd.io/v1beta2", "GitRepository", "source.toolkit.fluxcd.io/v1"} {
		if !strings.Contains(old.DeprecationWarning, word) {
			t.Errorf("the warning %q does not name %s", old.DeprecationWarning, word)
		}
	}
	// the API server takes no more
	if len(old.DeprecationWarning) > 256 {
		t.Errorf("the warning is %d characters long", len(old.DeprecationWarning))
	}
	again, err := serveOldVersion(out)
	if err != nil || string(again) != string(out) {
		t.Errorf("a definition that serves it already is changed, error %v", err)
	}
}

func TestServeOldVersionRefuses(t *testing.T) {
	tests := map[string]string{
		"not YAML":       "\t",
		"no definition":  "kind: ConfigMap",
		"nothing stored": strings.Replace(definition, "storage: true", "storage: false", 1),
		"webhook":        strings.Replace(definition, "spec:\n  group", "spec:\n  conversion: {strategy: Webhook}\n  group", 1),
		"not served":     definition + "  - {name: v1beta2, served: false, storage: false}\n",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			if out, err := serveOldVersion([]byte(in)); err == nil {
				t.Errorf("accepted as\n%s", out)
			}
		})
	}
}
