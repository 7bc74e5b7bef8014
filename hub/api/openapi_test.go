package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

var update = flag.Bool("update", false, "write openapi.json anew")

func TestOpenAPI(t *testing.T) {
	h := newHub(t, func(o *api.Options) {
		o.Sandbox, o.Workshop, o.Reported, o.Proposals = machine{}, lessons{}, func() {}, &api.Proposals{}
	})
	a := h.do(http.MethodGet, "/api/v1/openapi.json", "", nobody)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if *update {
		if err := os.WriteFile("openapi.json", a.body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(a.body)); diff != "" {
		t.Errorf("openapi.json is not what the code makes; go test ./hub/api -run TestOpenAPI -update writes it (-committed +made):\n%s", diff)
	}

	document, err := libopenapi.NewDocument(a.body)
	if err != nil {
		t.Fatal(err)
	}
	built, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	if built.Model.Version != "3.1.0" {
		t.Errorf("it is of OpenAPI %s", built.Model.Version)
	}
	valid(t, a.body)

	// what TypeScript is made of: operations with names, schemas with names and what they must have
	ids := map[string]string{}
	for path, item := range built.Model.Paths.PathItems.FromOldest() {
		for method, o := range item.GetOperations().FromOldest() {
			if ids[o.OperationId] != "" || o.OperationId == "" {
				t.Errorf("%s %s has the operation %q of %s", method, path, o.OperationId, ids[o.OperationId])
			}
			ids[o.OperationId] = path
			if o.Responses.Default == nil {
				t.Errorf("%s %s says nothing of its problems", method, path)
			}
		}
	}
	for name, want := range map[string][]string{
		"PlacementList": {"items"}, "Placement": {"cluster", "environment", "state", "workload", "workspace", "policies"},
		"Problem": {"type", "title", "status", "detail", "instance"}, "Matrix": {"rows", "cols", "versions", "states", "cells"},
	} {
		proxy := built.Model.Components.Schemas.GetOrZero(name)
		if proxy == nil {
			t.Errorf("there is no schema %s", name)
			continue
		}
		for _, field := range want {
			if !slices.Contains(proxy.Schema().Required, field) {
				t.Errorf("%s need not have %s", name, field)
			}
		}
	}
	var states []string
	for _, n := range built.Model.Components.Schemas.GetOrZero("State").Schema().Enum {
		states = append(states, n.Value)
	}
	var want []string
	for _, s := range placement.States() {
		want = append(want, string(s))
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	for path, sorts := range map[string][]string{"/placements": store.PlacementSorts, "/clusters": store.ClusterSorts} {
		for _, p := range built.Model.Paths.PathItems.GetOrZero(path).Get.Parameters {
			var got []string
			if p.Name == "sort" {
				for _, n := range p.Schema.Schema().Enum {
					got = append(got, n.Value)
				}
				if diff := cmp.Diff(sorts, got); diff != "" {
					t.Errorf("sorts of %s (-want +got):\n%s", path, diff)
				}
			}
		}
	}
}

// valid holds the document to the JSON Schema of OpenAPI 3.1.
func valid(t *testing.T, document []byte) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("the document is not OpenAPI 3.1: %v", err)
	}
	// and that this finds what is wrong
	var broken map[string]any
	if err := json.Unmarshal(document, &broken); err != nil {
		t.Fatal(err)
	}
	delete(broken, "info")
	if compiled.Validate(broken) == nil {
		t.Error("a document without info is valid")
	}
}
