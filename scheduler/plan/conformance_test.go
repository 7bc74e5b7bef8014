package plan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// conformanceCase is a control plane, environment dev, and what the code of the
// original scheduler at commit 1f5fef0 makes of it.
type conformanceCase struct {
	Case  string
	Input string // an archive for modeltest
	Want  struct {
		Targets     map[string]map[string]string  // labels by name
		Assignments map[string]originalAssignment // by clusterType/target
	}
}

type originalAssignment struct {
	Policies    []string
	Config      map[string]any
	Invalid     string // what a schema has against Config
	RenderError string
	Files       map[string]string
}

// The reasons for which an assignment may differ from the original scheduler's.
const (
	refusedName   = "refused-name"   // Kubernetes refuses the namespace's name, which the original writes nevertheless
	missingValue  = "missing-value"  // the original prints <no value>
	newerFunction = "newer-function" // the original's older sprig lacks a function
	objects       = "objects"        // manifests are objects, which the original cannot read
	coerced       = "coerced"        // a schema gets values of the types it asks for
)

// TestConformance plans control planes whose outcome with the original
// scheduler is known. Where ours differs the reason is made sure of, and
// departures.txt lists each such case: no more of them, and no fewer.
func TestConformance(t *testing.T) {
	const list = "testdata/conformance/departures.txt"
	var departures []string
	for _, archive := range []string{"upstream.jsonl.gz", "upstream-templates.jsonl.gz"} {
		cases := conformanceCases(t, "testdata/conformance/"+archive)
		if len(cases) == 0 {
			t.Fatalf("%s is empty", archive)
		}
		for _, c := range cases {
			t.Run(c.Case, func(t *testing.T) {
				for _, d := range conform(t, c) {
					departures = append(departures, c.Case+" "+d)
				}
			})
		}
	}
	slices.Sort(departures)
	got := strings.Join(departures, "\n") + "\n"
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(list, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("departures (-listed +found):\n%s", diff)
	}
}

func conformanceCases(t *testing.T, archive string) []conformanceCase {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []conformanceCase
	decoder := json.NewDecoder(z)
	decoder.UseNumber()
	for {
		var c conformanceCase
		err := decoder.Decode(&c)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		all = append(all, c)
	}
}

// conform compares the plan of a case with the original's and returns what
// differs for a reason, as "clusterType/target reason".
func conform(t *testing.T, c conformanceCase) (departures []string) {
	repos := modeltest.Parse(c.Input)
	env, err := model.LoadEnvironment(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	planner := new(Planner)
	p, err := planner.New(t.Context(), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]map[string]string{}
	for _, target := range p.Targets {
		targets[target.Name] = target.Labels
	}
	if diff := cmp.Diff(c.Want.Targets, targets); diff != "" {
		t.Errorf("targets (-original +ours):\n%s", diff)
	}
	policies := map[string][]string{}
	for _, a := range p.Assignments {
		policies[a.ClusterType+"/"+a.Target] = a.Policies
	}
	originals := map[string][]string{}
	for pair, original := range c.Want.Assignments {
		originals[pair] = original.Policies
	}
	if diff := cmp.Diff(originals, policies); diff != "" {
		t.Errorf("assignments and their policies (-original +ours):\n%s", diff)
	}
	for _, row := range planner.last.rows {
		for _, cell := range row.cells {
			pair := row.clusterType.Name + "/" + cell.target.Name
			t.Run(pair, func(t *testing.T) {
				data := planner.last.configurations.of(cell.pair, row.offered, cell.target.offered).data
				original := c.Want.Assignments[pair]
				if diff := cmp.Diff(asJSON(t, original.Config), asJSON(t, data)); diff != "" {
					t.Errorf("configuration (-original +ours):\n%s", diff)
				}
				isObjects := strings.Contains(c.Input, "  manifests:\n    - apiVersion:")
				for _, reason := range conformResult(t, original, cell.result, namespaceOf("dev", cell.pair), isObjects) {
					departures = append(departures, pair+" "+reason)
				}
			})
		}
	}
	return departures
}

// conformResult compares the files of an assignment, or why there are none.
func conformResult(t *testing.T, original originalAssignment, ours *result, namespace string, isObjects bool) (reasons []string) {
	var findings, failures []string
	refused := false
	for _, p := range ours.problems {
		switch p.Reason {
		case InvalidConfig:
			findings = append(findings, p.Message)
		case InvalidName:
			refused = true
		default:
			failures = append(failures, fmt.Sprintf("%s %s: %s", p.Reason, p.Position, p.Message))
		}
	}
	reasons = append(reasons, conformFindings(t, original.Invalid, findings)...)
	if refused {
		if len(validation.IsDNS1123Label(namespace)) == 0 {
			t.Errorf("%s is refused: %v", namespace, ours.problems)
		}
		reasons = append(reasons, refusedName)
	}
	function := undefinedFunction.FindStringSubmatch(original.RenderError)
	switch {
	case isObjects && strings.HasSuffix(original.RenderError, "not found"):
		// The fields that such templates use are those of long ago.
		renamed := func(f string) bool { return strings.Contains(f, "unknown field .") }
		if len(failures) == 0 || slices.ContainsFunc(failures, renamed) {
			reasons = append(reasons, objects)
		}
		if slices.ContainsFunc(failures, renamed) {
			reasons = append(reasons, missingValue)
		}
	case function != nil && functions[function[1]] != nil:
		if len(failures) == 0 {
			reasons = append(reasons, newerFunction)
		}
	case original.RenderError != "":
		if len(failures) == 0 {
			t.Errorf("it is rendered, and with the original it is not: %s", original.RenderError)
		}
	case len(failures) > 0:
		reasons = append(reasons, missingValue)
		if !strings.Contains(fmt.Sprint(original.Files), "<no value>") {
			t.Errorf("it is not rendered: %v", failures)
		}
	case len(ours.problems) == 0 && original.Invalid == "":
		reasons = append(reasons, conformFiles(t, original.Files, ours.files)...)
	}
	return reasons
}

var undefinedFunction = regexp.MustCompile(`function "(\w+)" not defined$`)

func conformFiles(t *testing.T, originals map[string]string, ours []file) (reasons []string) {
	files := map[string]string{}
	for _, f := range ours {
		files[f.name] = string(f.content)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(originals)), slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-original +ours):\n%s", diff)
	}
	for name, text := range files {
		original := originals[name]
		read := func(text string) any {
			if strings.HasSuffix(name, ".sh") {
				return strings.TrimRight(text, "\n")
			}
			return kubernetesDocuments(t, text)
		}
		got := read(text)
		if cmp.Equal(read(original), got) {
			continue
		}
		switch {
		case strings.Contains(original, "<no value>") && cmp.Equal(read(strings.ReplaceAll(original, "<no value>", "")), got):
			reasons = append(reasons, missingValue)
		default:
			t.Errorf("%s (-original +ours):\n%s", name, cmp.Diff(original, text))
		}
	}
	return reasons
}

// kubernetesDocuments reads a file as Kubernetes does.
func kubernetesDocuments(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		var value any
		if err == nil {
			err = yaml.Unmarshal(document, &value)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if value != nil {
			all = append(all, value)
		}
	}
}

// conformFindings compares what schemas have against a configuration. The two
// word it differently, so that the kind and the key count. Only what depends on
// the type of a value may differ.
func conformFindings(t *testing.T, original string, ours []string) (reasons []string) {
	theirs := parsedFindings(t, originalFindings, strings.FieldsFunc(strings.TrimPrefix(original, "Config data validation failed:"), func(r rune) bool { return r == '\n' }))
	differing := parsedFindings(t, ourFindings, ours)
	for f := range theirs {
		if differing[f] {
			delete(differing, f)
		} else {
			differing[f] = true
		}
	}
	for f := range differing {
		if kind, _, _ := strings.Cut(f, " "); kind == "required" || kind == "additional" {
			t.Errorf("%s: original %q, ours %q", f, original, ours)
			continue
		}
		reasons = []string{coerced}
	}
	return reasons
}

// Patterns of findings, by kind. What they find is the key.
var (
	originalFindings = map[string]*regexp.Regexp{
		"required":   regexp.MustCompile(`^(\S+) is required$`),
		"additional": regexp.MustCompile(`^Additional property (\S+) is not allowed$`),
		"type":       regexp.MustCompile(`^(\S+): Invalid type\.`),
		"pattern":    regexp.MustCompile(`^(\S+): Does not match pattern`),
		"enum":       regexp.MustCompile(`^(\S+): \S+ must be one of`),
		"range":      regexp.MustCompile(`^(\S+): Must be (?:greater|less) than`),
		"length":     regexp.MustCompile(`^(\S+): String length must be`),
	}
	ourFindings = map[string]*regexp.Regexp{
		"required":   regexp.MustCompile(`^(\S+) is required$`),
		"additional": regexp.MustCompile(`^additional properties '(\S+)' not allowed$`),
		"type":       regexp.MustCompile(`^(\S+): got \S+, want `),
		"pattern":    regexp.MustCompile(`^(\S+): '.*' does not match pattern`),
		"enum":       regexp.MustCompile(`^(\S+): value must be one of`),
		"range":      regexp.MustCompile(`^(\S+): (?:minimum|maximum|exclusive)`),
		"length":     regexp.MustCompile(`^(\S+): (?:minLength|maxLength)`),
	}
)

func parsedFindings(t *testing.T, patterns map[string]*regexp.Regexp, texts []string) map[string]bool {
	found := map[string]bool{}
	for _, text := range texts {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "-"))
		known := text == ""
		for kind, pattern := range patterns {
			if match := pattern.FindStringSubmatch(text); match != nil {
				known = true
				found[kind+" "+match[1]] = true
			}
		}
		if !known {
			t.Errorf("a finding of no known kind: %q", text)
		}
	}
	return found
}

// asJSON writes a configuration as JSON, which has one kind of number and no
// keys but texts.
func asJSON(t *testing.T, data map[string]any) string {
	t.Helper()
	var plain func(value any) any
	plain = func(value any) any {
		switch v := value.(type) {
		case map[string]any, map[any]any:
			fields, _ := configvalue.Fields(v)
			m := map[string]any{}
			for key, element := range fields {
				m[key] = plain(element)
			}
			return m
		case []any:
			list := make([]any, len(v))
			for i, element := range v {
				list[i] = plain(element)
			}
			return list
		}
		return value
	}
	if data == nil {
		data = map[string]any{}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(plain(data)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
