package plan_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
)

// addresses are the ways in which the tutorials write where their repositories
// are.
var addresses = strings.NewReplacer(
	"https://github.com/YOUR_ORG/", modeltest.Forge,
	"https://github.com/$org/$prefix-", modeltest.Forge+"kalypso-",
	"https://github.com/<github org>/<prefix>-", modeltest.Forge+"kalypso-",
	"https://github.com/microsoft/", modeltest.Forge,
)

// printed returns what a tutorial prints, by name, with the test's addresses.
func printed(t *testing.T, tutorial string) map[string][]byte {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/seeds/" + tutorial + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = []byte(addresses.Replace(string(f.Data)))
	}
	return files
}

// walk is one run through a tutorial, with the steps of both teams.
type walk struct {
	*testing.T
	repos   *modeltest.Repositories
	control string // the control plane's repository
	gitops  string // the platform's GitOps repository
}

// plan plans an environment as it is at the moment.
func (w *walk) plan(environment string) *plan.Plan {
	w.Helper()
	environments, diagnostics := model.LoadEnvironments(w.repos.Tree(w.control, "main"), "")
	i := slices.IndexFunc(environments, func(e model.EnvironmentObject) bool { return e.Name == environment })
	if i < 0 {
		w.Fatalf("there is no environment %s: %v", environment, diagnostics)
	}
	c := environments[i].Spec.ControlPlane
	env, err := model.LoadEnvironment(w.Context(), w.repos, environment, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path})
	if err != nil {
		w.Fatal(err)
	}
	return newPlan(w, env, w.repos.Tree(w.gitops, environment))
}

// expect plans an environment without problems and with exactly these changes,
// merges them and returns the branch's files.
func (w *walk) expect(environment string, want ...string) map[string][]byte {
	w.Helper()
	p := w.plan(environment)
	if len(p.Problems) > 0 {
		w.Fatalf("problems on %s: %v", environment, p.Problems)
	}
	if diff := cmp.Diff(append([]string{}, want...), changes(p)); diff != "" {
		w.Fatalf("changes on %s (-want +got):\n%s", environment, diff)
	}
	return w.merge(environment, p)
}

func (w *walk) merge(environment string, p *plan.Plan) map[string][]byte {
	for _, c := range p.Changes {
		if c.Action == plan.Remove {
			w.repos.Remove(w.gitops, environment, c.Path)
		} else {
			w.repos.Write(w.gitops, environment, c.Path, c.Content)
		}
	}
	return w.repos.Tree(w.gitops, environment).Files
}

// same compares a generated file with a printed one, field for field.
func (w *walk) same(file string, printed, generated []byte) {
	w.Helper()
	if diff := cmp.Diff(documents(w.T, printed), documents(w.T, generated)); diff != "" {
		w.Errorf("%s (-printed +generated):\n%s", file, diff)
	}
}

// field returns a text inside a document.
func (w *walk) field(content []byte, document int, keys ...string) string {
	w.Helper()
	value := documents(w.T, content)[document]
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			w.Fatalf("nothing at %v in\n%s", keys, content)
		}
		value = object[key]
	}
	text, ok := value.(string)
	if !ok {
		w.Fatalf("no text at %v in\n%s", keys, content)
	}
	return text
}

func (w *walk) write(repo, branch, file string, content []byte) {
	w.repos.Write(repo, branch, file, content)
}

// assignment lists the changes that add an assignment.
func assignment(clusterType, target string) []string {
	var all []string
	for _, name := range []string{"namespace", "platform-config", "reconciler"} {
		all = append(all, "add "+path.Join(clusterType, target, name+".yaml"))
	}
	return all
}
