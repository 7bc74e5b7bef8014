package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// TestUnreadableSchemas proves that no ConfigSchema is lost in silence: one
// whose labels are known stays, with an empty schema, and concerns only what
// they match; of any other the environment says that it may be missing.
func TestUnreadableSchemas(t *testing.T) {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\n"
	const named = head + "metadata: {name: s, labels: {region: east}}\n"
	tests := []struct {
		name, file string
		labels     map[string]string // of the schema that is kept
		schema     string
		lost       bool // a schema may be missing
		incomplete bool
	}{
		{name: "readable", file: named + "spec: {schema: '{}'}\n", labels: map[string]string{"region": "east"}, schema: "{}"},
		{name: "unknown field", file: named + "spec: {schema: '{}', shema: x}\n", labels: map[string]string{"region": "east"}, schema: "{}"},
		{name: "object for a schema", file: named + "spec: {schema: {required: [a]}}\n", labels: map[string]string{"region": "east"}, incomplete: true},
		{name: "no schema", file: named + "spec: {}\n", labels: map[string]string{"region": "east"}, incomplete: true},
		{name: "no spec", file: named, labels: map[string]string{"region": "east"}, incomplete: true},
		{name: "schema twice", file: named + "spec:\n  schema: '{}'\n  schema: 'true'\n", labels: map[string]string{"region": "east"}, incomplete: true},
		{name: "labels unreadable", file: head + "metadata: {name: s, labels: {edge: true}}\nspec: {schema: '{}'}\n", lost: true, incomplete: true},
		{name: "labels a list", file: head + "metadata: {name: s, labels: [edge]}\nspec: {schema: '{}'}\n", lost: true, incomplete: true},
		{name: "no name", file: head + "metadata: {labels: {region: east}}\nspec: {schema: '{}'}\n", lost: true, incomplete: true},
		{name: "bad name", file: head + "metadata: {name: A_b}\nspec: {schema: '{}'}\n", lost: true, incomplete: true},
		{name: "misspelled kind", file: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigShema\nmetadata: {name: s}\n", lost: true, incomplete: true},
		{name: "other version", file: "apiVersion: scheduler.kalypso.io/v1\nkind: ConfigSchema\nmetadata: {name: s}\n", lost: true, incomplete: true},
		{name: "no YAML", file: named + "spec: ]\nstatus: {}\n", lost: true, incomplete: true},
		{name: "no YAML, another kind", file: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nspec: ]\nstatus: {}\n", incomplete: true},
		{name: "other kind", file: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: a}\n", incomplete: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repos := modeltest.Parse(pointers)
			repos.Write("control", "dev", "f.yaml", []byte(test.file))
			env := load(t, repos)
			if env.SchemasIncomplete != test.lost || env.Incomplete != test.incomplete || env.ConfigIncomplete {
				t.Errorf("schemas %v, all %v, configuration %v; want %v, %v, false: %q",
					env.SchemasIncomplete, env.Incomplete, env.ConfigIncomplete, test.lost, test.incomplete, lines(env.Diagnostics))
			}
			if test.incomplete != (len(env.Diagnostics) > 0 && env.Diagnostics[0].Severity == "error") {
				t.Errorf("diagnostics: %q", lines(env.Diagnostics))
			}
			if (test.labels != nil) != (len(env.ConfigSchemas) == 1) {
				t.Fatalf("schemas: %v", env.ConfigSchemas)
			}
			if test.labels == nil {
				return
			}
			got := env.ConfigSchemas[0]
			if diff := cmp.Diff(test.labels, got.Labels); diff != "" || got.Spec.Schema != test.schema {
				t.Errorf("schema %q, want %q; labels (-want +got):\n%s", got.Spec.Schema, test.schema, diff)
			}
		})
	}
}

// TestUnreadableConfig proves that a ConfigMap with an error stays with its
// labels and gives no value, not even one that could be read.
func TestUnreadableConfig(t *testing.T) {
	repos := modeltest.Parse(pointers)
	repos.Write("control", "dev", "f.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: 'true', region: east}}\ndata: {A: '1', B: 2}\n"))
	env := load(t, repos)
	if len(env.Configs) != 1 || !env.Incomplete || env.ConfigIncomplete || env.SchemasIncomplete {
		t.Fatalf("configs %v, incomplete %v, config %v, schemas %v", env.Configs, env.Incomplete, env.ConfigIncomplete, env.SchemasIncomplete)
	}
	got := env.Configs[0]
	if got.Labels["region"] != "east" || len(got.Spec.Data) > 0 {
		t.Errorf("labels %v, data %v", got.Labels, got.Spec.Data)
	}
	if diff := cmp.Diff(env.Diagnostics, got.Unreadable); diff != "" {
		t.Errorf("errors (-environment's +object's):\n%s", diff)
	}
}

// TestSchemasOfMissingBase proves that a base that is not there may hold
// schemas, and that a schema's name that stands twice loses one.
func TestSchemasOfMissingBase(t *testing.T) {
	repos := modeltest.Parse(pointers)
	repos.Write("control", "dev", "base-repo.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://forge.test/kalypso/nowhere, branch: main}\n"))
	if !load(t, repos).SchemasIncomplete {
		t.Error("without the base no schema is missed")
	}
	repos = modeltest.Parse(pointers)
	const schema = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\nmetadata: {name: s}\nspec: {schema: '{}'}\n"
	repos.Write("control", "dev", "a.yaml", []byte(schema+"---\n"+schema))
	if env := load(t, repos); !env.SchemasIncomplete || len(env.ConfigSchemas) != 1 {
		t.Errorf("two of one name: schemas %v, incomplete %v", env.ConfigSchemas, env.SchemasIncomplete)
	}
}
