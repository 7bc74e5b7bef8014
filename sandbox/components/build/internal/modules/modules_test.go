package modules

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseFindings(t *testing.T) {
	const report = `{"config":{"db":"x"}}
{"osv":{"id":"GO-1"}}
{"finding":{"osv":"GO-1","fixed_version":"v0.53.0","trace":[{"module":"golang.org/x/net","version":"v0.38.0"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v0.60.0","trace":[{"module":"golang.org/x/net","version":"v0.38.0","package":"golang.org/x/net/http2"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v0.53.0","trace":[{"module":"golang.org/x/net","version":"v0.38.0","package":"golang.org/x/net/http2"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v0.53.0","trace":[{"module":"golang.org/x/net","version":"v0.38.0","package":"golang.org/x/net/idna"}]}}
{"finding":{"osv":"GO-3","trace":[{"module":"example.com/b","version":"v1.0.0","package":"example.com/b"}]}}
{"finding":{"osv":"GO-4","fixed_version":"v1.2.0","trace":[{"module":"example.com/b","version":"v1.0.0","package":"example.com/b"}]}}`
	got, err := parseFindings(strings.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	want := []Vulnerability{
		{Module: "example.com/b", Version: "v1.0.0", Fixed: "v1.2.0", IDs: []string{"GO-3", "GO-4"}},
		{Module: "golang.org/x/net", Version: "v0.38.0", Fixed: "v0.60.0", IDs: []string{"GO-1", "GO-2"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := parseFindings(strings.NewReader(report[:200])); err == nil {
		t.Error("half a report is read without an error")
	}
}

func TestPatch(t *testing.T) {
	others := strings.Fields("v1.34.9 v1.35.4 v1.35.10 v1.35.11-rc.0 v1.36.0")
	for version, want := range map[string]string{
		"v1.35.4":                            "v1.35.10",
		"v1.36.0":                            "v1.36.0",
		"v1.37.0":                            "v1.37.0",
		"v1.35.12":                           "v1.35.12",
		"v0.0.0-20251217140045-5baed5604d2d": "v0.0.0-20251217140045-5baed5604d2d",
	} {
		if got := patch(version, others); got != want {
			t.Errorf("patch of %s is %s, want %s", version, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	got := compare(map[string]string{"a": "v1.0.0", "b": "v1.0.0", "c": "v1.0.0"}, map[string]string{"a": "v1.0.0", "b": "v1.0.1", "d": "v2.0.0"})
	want := []Change{{"b", "v1.0.0", "v1.0.1"}, {Module: "c", From: "v1.0.0"}, {Module: "d", To: "v2.0.0"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
