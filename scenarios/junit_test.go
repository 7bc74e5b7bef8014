package scenarios

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestJUnit(t *testing.T) {
	results := []Result{
		{
			Workshop: "basic-inference", Name: "one", Title: "One & only", State: Failed,
			Began: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Took: 2500 * time.Millisecond,
			Steps: []Step{
				{Title: "Push", State: Passed, Took: 500 * time.Millisecond},
				{Title: "Look", State: Failed, Took: 2 * time.Second, Reason: "a is \"1\" instead of <2>\n  second line", Output: "> exec x\n\x1b[1mred\x1b[0m"},
				{Title: "Merge", State: Skipped},
			},
			Measurements: []Measurement{{Name: "push to pull request", Took: 412 * time.Millisecond}},
		},
		{Workshop: "basic-inference", Name: "two", State: Skipped, Steps: []Step{{Title: "Look", State: Skipped}}},
		{Workshop: "basic-inference", Name: "three", State: Simulated, Steps: []Step{{Title: "Page", State: Simulated, Note: "no root"}}},
	}
	var got bytes.Buffer
	if err := WriteJUnit(&got, results); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "junit.xml")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var parsed junitSuites
	if err := xml.Unmarshal(got.Bytes(), &parsed); err != nil {
		t.Errorf("not XML: %v", err)
	}
}
