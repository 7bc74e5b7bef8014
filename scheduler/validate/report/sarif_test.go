package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
)

var program = report.Program{Version: "1.2.3", URL: "https://github.com/kalypso-dev/kalypso"}

func TestSARIF(t *testing.T) {
	r := mistakes(t)
	got, err := report.SARIF(r, program)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.sarif", got)
	checkSARIF(t, got, len(r.Findings))
}

func TestSARIFOfNothing(t *testing.T) {
	got, err := report.SARIF(validate.Report{}, report.Program{})
	if err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, got, 0)
	if !strings.Contains(string(got), `"results": []`) {
		t.Error("no results must be an empty list: code scanning closes alerts by it")
	}
}

func TestSARIFPlaces(t *testing.T) {
	at := func(repo, branch, file string, line, column int) validate.Finding {
		return validate.Finding{Rule: model.InvalidYAML, Severity: validate.Error, Message: "m", Fingerprint: "f",
			Position: model.Position{Repo: repo, Branch: branch, File: file, Line: line, Column: column}}
	}
	got, err := report.SARIF(validate.Report{Findings: []validate.Finding{
		at("https://user:hunter2@git.test/a/control", "dev", "my file#1.yaml", 3, 5),
		at("https://git.test/b/control", "dev", "x/y.yaml", 0, 0),
		at("/home/me/control", "dev", "", 0, 0),
		at("", "", "f.yaml", 1, 0),
	}}, program)
	if err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, got, 4)
	var log struct {
		Runs []struct {
			Results []struct {
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(got, &log); err != nil {
		t.Fatal(err)
	}
	var positions []string
	for _, result := range log.Runs[0].Results {
		p := result.Locations[0].PhysicalLocation
		positions = append(positions, fmt.Sprintf("%s %s %d:%d", p.ArtifactLocation.URIBaseID, p.ArtifactLocation.URI, p.Region.StartLine, p.Region.StartColumn))
	}
	want := []string{"control@dev my%20file%231.yaml 3:5", "control@dev' x/y.yaml 1:0", "control@dev'' ./ 1:0", "SRCROOT f.yaml 1:0"}
	if !slices.Equal(positions, want) {
		t.Errorf("places %q, want %q", positions, want)
	}
	if strings.Contains(string(got), "hunter2") {
		t.Error("a password got into the file")
	}
}

// checkSARIF checks what SARIF 2.1.0 requires of the properties that are in
// use, and what GitHub's code scanning requires beyond it.
func checkSARIF(t *testing.T, content []byte, results int) {
	t.Helper()
	var document any
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	c := sarifCheck{t}
	log := c.object("log", document, "version", "runs")
	c.equal("version", log["version"], "2.1.0")
	runs := c.list("runs", log["runs"], 1)
	run := c.object("run", runs[0], "tool", "results")
	c.oneOf("columnKind", run["columnKind"], "utf16CodeUnits", "unicodeCodePoints")
	driver := c.object("driver", c.object("tool", run["tool"], "driver")["driver"], "name", "rules")
	rules := c.rules(driver["rules"])
	bases, _ := run["originalUriBaseIds"].(map[string]any)
	all, ok := run["results"].([]any)
	if !ok || len(all) != results {
		t.Errorf("%d results, want %d", len(all), results)
	}
	seen := map[string]bool{}
	for i, result := range all {
		c.result(fmt.Sprintf("results[%d]", i), result, rules, bases, seen)
	}
	provenance, _ := run["versionControlProvenance"].([]any)
	for _, v := range provenance {
		details := c.object("versionControlDetails", v, "repositoryUri")
		if u, err := url.Parse(fmt.Sprint(details["repositoryUri"])); err != nil || !u.IsAbs() {
			t.Errorf("repositoryUri %v", details["repositoryUri"])
		}
	}
}

type sarifCheck struct{ t *testing.T }

func (c sarifCheck) object(what string, v any, required ...string) map[string]any {
	c.t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		c.t.Fatalf("%s is no object: %v", what, v)
	}
	for _, name := range required {
		if m[name] == nil || m[name] == "" {
			c.t.Errorf("%s has no %s, only %v", what, name, slices.Sorted(maps.Keys(m)))
		}
	}
	return m
}

func (c sarifCheck) list(what string, v any, length int) []any {
	c.t.Helper()
	list, ok := v.([]any)
	if !ok || len(list) != length {
		c.t.Fatalf("%s is no list of %d: %v", what, length, v)
	}
	return list
}

func (c sarifCheck) equal(what string, got, want any) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s is %v, not %v", what, got, want)
	}
}

func (c sarifCheck) oneOf(what string, got any, allowed ...string) {
	c.t.Helper()
	if !slices.Contains(allowed, fmt.Sprint(got)) {
		c.t.Errorf("%s is %v, not one of %v", what, got, allowed)
	}
}

// rules checks the reporting descriptors and returns their IDs in order.
func (c sarifCheck) rules(v any) []string {
	c.t.Helper()
	list, _ := v.([]any)
	var ids []string
	for i, r := range list {
		what := fmt.Sprintf("rules[%d]", i)
		rule := c.object(what, r, "id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration")
		for _, text := range []string{"shortDescription", "fullDescription", "help"} {
			if m := c.object(what+"."+text, rule[text], "text"); len(fmt.Sprint(m["text"])) > 1024 {
				c.t.Errorf("%s.%s is longer than code scanning takes", what, text)
			}
		}
		c.oneOf(what+".level", c.object(what+".defaultConfiguration", rule["defaultConfiguration"], "level")["level"], "none", "note", "warning", "error")
		ids = append(ids, fmt.Sprint(rule["id"]))
	}
	if len(ids) != len(validate.Rules()) {
		c.t.Errorf("%d rules, want %d", len(ids), len(validate.Rules()))
	}
	return ids
}

func (c sarifCheck) result(what string, v any, rules []string, bases map[string]any, seen map[string]bool) {
	c.t.Helper()
	result := c.object(what, v, "ruleId", "message", "level", "locations", "partialFingerprints")
	c.oneOf(what+".level", result["level"], "none", "note", "warning", "error")
	c.object(what+".message", result["message"], "text")
	index, ok := result["ruleIndex"].(float64)
	if !ok || int(index) < 0 || int(index) >= len(rules) || rules[int(index)] != result["ruleId"] {
		c.t.Errorf("%s: ruleIndex %v does not belong to %v", what, result["ruleIndex"], result["ruleId"])
	}
	location := c.object(what+".location", c.list(what+".locations", result["locations"], 1)[0], "physicalLocation")
	physical := c.object(what+".physicalLocation", location["physicalLocation"], "artifactLocation", "region")
	artifact := c.object(what+".artifactLocation", physical["artifactLocation"], "uri")
	u, err := url.Parse(fmt.Sprint(artifact["uri"]))
	if err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "..") {
		c.t.Errorf("%s: uri %v is not relative", what, artifact["uri"])
	}
	if bases[fmt.Sprint(artifact["uriBaseId"])] == nil {
		c.t.Errorf("%s: uriBaseId %v is not explained", what, artifact["uriBaseId"])
	}
	region := c.object(what+".region", physical["region"], "startLine")
	if line, ok := region["startLine"].(float64); !ok || line < 1 {
		c.t.Errorf("%s: startLine %v", what, region["startLine"])
	}
	if column, ok := region["startColumn"]; ok && column.(float64) < 1 {
		c.t.Errorf("%s: startColumn %v", what, column)
	}
	prints := c.object(what+".partialFingerprints", result["partialFingerprints"], "kalypsoFinding/v1")
	if id := fmt.Sprint(prints["kalypsoFinding/v1"]); seen[id] && id != "f" {
		c.t.Errorf("%s: fingerprint %s stands twice", what, id)
	} else {
		seen[id] = true
	}
}
