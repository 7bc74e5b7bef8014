package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata/golden")

// helloWorld is the tutorial's fleet, on which all cases here are built.
const helloWorld = "../plan/testdata/inputs/hello-world.txtar"

// ask is how a model's comment marks a question.
const ask = "$ explain "

// repositories are the tutorial's with the files of an archive on top.
func repositories(t testing.TB, archive *txtar.Archive) *modeltest.Repositories {
	t.Helper()
	base, err := txtar.ParseFile(helloWorld)
	if err != nil {
		t.Fatal(err)
	}
	base.Files = append(base.Files, archive.Files...)
	return modeltest.Parse(string(txtar.Format(base)))
}

// planned loads and plans the model's environment dev.
func planned(t testing.TB, w *modeltest.Repositories) (*model.Environment, *plan.Plan) {
	t.Helper()
	env, err := model.LoadEnvironment(t.Context(), w, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	return env, newPlan(t, env, w.Tree("gitops", "dev"))
}

// answer is what a user gets for a question, error or not.
func answer(t testing.TB, env *model.Environment, p *plan.Plan, present map[string][]byte, question string) string {
	t.Helper()
	question, asJSON := strings.CutSuffix(question, " -o json")
	words := strings.Fields(question)
	q := explain.Query{Target: words[0], Present: present}
	if len(words) > 1 {
		q.ClusterType = words[1]
	}
	e, err := explain.Explain(t.Context(), env, p, q)
	var input *explain.InputError
	switch {
	case errors.As(err, &input):
		return "error: " + input.Text() + "\n"
	case err != nil:
		t.Fatal(err)
	case asJSON:
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(e); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	return e.Text()
}

// TestGolden asks every question of every model in testdata/inputs and compares
// the answers with those in testdata/golden.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/inputs/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repos := repositories(t, archive)
			env, p := planned(t, repos)
			var present map[string][]byte
			if tree := repos.Tree("gitops", "dev"); tree != nil {
				present = tree.Files
			}
			got := &txtar.Archive{}
			for line := range strings.Lines(string(archive.Comment)) {
				if question, ok := strings.CutPrefix(strings.TrimSpace(line), ask); ok {
					got.Files = append(got.Files, txtar.File{Name: question, Data: []byte(answer(t, env, p, present, question))})
				}
			}
			golden := filepath.Join("testdata", "golden", filepath.Base(file))
			if *update {
				if err := os.WriteFile(golden, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; run go test -update to write it", err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// newPlan plans, and fails the test when there is an error.
func newPlan(t testing.TB, env *model.Environment, gitops *model.Tree) *plan.Plan {
	t.Helper()
	p, err := plan.New(t.Context(), env, gitops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
