package validate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/validatetest"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite what golden tests expect")

// sound returns the model that nothing is wrong with.
func sound(t *testing.T) *modeltest.Repositories {
	t.Helper()
	archive, err := os.ReadFile("testdata/sound.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.Parse(string(archive))
}

// validated validates a model and runs its policy tests.
func validated(t *testing.T, repos *modeltest.Repositories) validate.Report {
	t.Helper()
	in, err := validatetest.Input(repos, "control")
	if err != nil {
		t.Fatal(err)
	}
	in.RunTests = true
	return mustValidate(t, in)
}

func TestSoundModelHasNoFindings(t *testing.T) {
	r := validated(t, sound(t))
	if len(r.Findings) > 0 {
		t.Errorf("findings:\n%s", report.Text(r, report.Style{}))
	}
	if r.Summary.Suppressed != 1 {
		t.Errorf("%d findings are silenced, want the one with a comment", r.Summary.Suppressed)
	}
}

// TestRules breaks the sound model in one way after the other. Each archive in
// testdata/rules is named after the rule that it is about: its files are
// written over the sound model, its section "findings" is what is found then,
// and its files below fixed/ put things right again.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		rule, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), ".")
		covered[rule] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repos := sound(t)
			if err := validatetest.Change(repos, archive, ""); err != nil {
				t.Fatal(err)
			}
			r := validated(t, repos)
			if !has(r, rule) {
				t.Errorf("nothing is found by rule %s", rule)
			}
			expectSection(t, file, archive, "findings", report.Text(r, report.Style{}))
			if err := validatetest.Change(repos, archive, "fixed/"); err != nil {
				t.Fatal(err)
			}
			fixed := validated(t, repos)
			if len(fixed.Findings) > 0 {
				t.Errorf("findings when it is put right:\n%s", report.Text(fixed, report.Style{}))
			}
		})
	}
	for _, rule := range validate.Rules() {
		if !covered[rule.ID] && !slices.Contains([]string{validate.InvalidModel, model.NoEffect, model.UnreadableSource}, rule.ID) {
			t.Errorf("rule %s has no archive", rule.ID)
		}
	}
}

func has(r validate.Report, rule string) bool {
	return slices.ContainsFunc(r.Findings, func(f validate.Finding) bool { return f.Rule == rule })
}

// expectSection compares a text with a section of an archive, or rewrites the
// section.
func expectSection(t *testing.T, file string, archive *txtar.Archive, name string, got []byte) {
	t.Helper()
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if *update {
		if i < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			i = len(archive.Files) - 1
		}
		archive.Files[i].Data = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if i < 0 {
		t.Fatalf("%s has no section %s; run go test -update to write it", file, name)
	}
	if diff := cmp.Diff(string(archive.Files[i].Data), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if !bytes.HasSuffix(archive.Files[i].Data, []byte("\n")) {
		t.Errorf("%s has no end of line", name)
	}
}
