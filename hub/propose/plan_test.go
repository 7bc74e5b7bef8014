package propose_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

func names(list []propose.Assignment) string {
	var all []string
	for _, a := range list {
		all = append(all, a.ClusterType+"/"+a.Target)
	}
	return strings.Join(all, " ")
}

// commandPlan is what `kalypso plan -o json` has of environment dev on a clone of the control
// plane, after `kalypso edit --write` made edits in it.
func (h *hub) commandPlan(edits ...edit.Edit) view.PlanDocument {
	h.Helper()
	dir := h.TempDir()
	gitkit.Run(h, dir, "-c", "http.extraHeader=Authorization: Basic "+basic("hub", os.Getenv("KALYPSO_TEST_TOKEN")), "clone", "--quiet", "--branch", "dev", h.forge.CloneURL(control), "clone")
	dir = filepath.Join(dir, "clone")
	open := func(branch string) *source.Platform {
		w, err := source.Open(h.Context(), source.Options{
			ControlPlane: dir, Branch: branch, Credentials: func(string) (string, string) { return "hub", os.Getenv("KALYPSO_TEST_TOKEN") }, Note: func(note string) { h.Log(note) },
		})
		if err != nil {
			h.Fatal(err)
		}
		return w
	}
	tree, err := open("").Files(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	changed, err := edit.Apply(tree, "", edits)
	if err != nil {
		h.Fatal(err)
	}
	for file, content := range changed {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
			h.Fatal(err)
		}
	}
	made, err := view.Load(h.Context(), open("main"), "dev")
	if err != nil {
		h.Fatal(err)
	}
	return made.Document()
}

func TestPlanIsThatOfTheCommand(t *testing.T) {
	h := newHub(t)
	for _, name := range []string{"nothing is merged yet", "all is merged"} {
		if name == "all is merged" {
			files := map[string]string{}
			for _, c := range h.commandPlan().Changes {
				files[c.Path] = *c.Content
			}
			h.forge.Push(gitOps, "dev", files)
			h.seen()
		}
		command := h.commandPlan(edit.Edit{Operation: edit.RemoveLabel, Kind: "ClusterType", Name: "small", Key: "edge"})
		got := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": removeLabel, "against": "merged"}))
		if got.FileCount != len(command.Changes) || len(got.Files) != len(command.Changes) || len(command.Changes) == 0 {
			t.Fatalf("%s: %d files, and the command has %d", name, len(got.Files), len(command.Changes))
		}
		for i, c := range command.Changes {
			f := got.Files[i]
			want := strings.ReplaceAll(c.Diff, "hunter2-hunter2", "REDACTED")
			if f.Path != c.Path || f.Diff != want || f.ClusterType != c.ClusterType || f.Target != c.Target {
				t.Errorf("%s: %+v is not\n%s", name, f, c.Diff)
			}
		}
	}
	// without what was not merged yet, the two comparisons are one
	if planned := h.plan(removeLabel); names(planned.Assignments.Lost) != "small/shop-near" || planned.Assignments.Same != 3 {
		t.Errorf("%+v", planned.Assignments)
	}
}

func TestPlan(t *testing.T) {
	h := newHub(t)
	p := h.plan(removeLabel)
	if !p.Changed || p.Stale || p.Head != h.forge.Branch(control, "dev") || p.Base != p.Head || p.Branch != "dev" || p.ControlPlane != h.forge.CloneURL(control) && p.ControlPlane+".git" != h.forge.CloneURL(control) {
		t.Errorf("%+v", p)
	}
	if names(p.Assignments.Lost) != "small/shop-near" || len(p.Assignments.Gained)+len(p.Assignments.Changed) > 0 || p.Assignments.Lost[0].Workspace != "team" || p.Assignments.Lost[0].Policies[0] != "edge" {
		t.Errorf("%+v", p.Assignments)
	}
	// comments stay
	if len(p.Source.Files) != 1 || p.Source.Files[0].Path != "cluster-types.yaml" || !strings.Contains(p.Source.Files[0].Diff, "\n     # it flies\n") || !strings.Contains(p.Source.Files[0].Diff, "\n-    edge: \"true\" # for now\n") {
		t.Errorf("%+v", p.Source)
	}
	if p.PolicyTests.Passed != 0 || len(p.PolicyTests.Failed) != 1 || !strings.HasSuffix(p.PolicyTests.Failed[0].Place, "tests.policytest.yaml:4") {
		t.Errorf("%+v", p.PolicyTests)
	}
	isNew := func(rule string) bool {
		return slices.ContainsFunc(p.Findings, func(f propose.Finding) bool { return f.Rule == rule && f.New })
	}
	if !isNew("policy-test") || p.Findings[0].New == false {
		t.Errorf("%+v", p.Findings)
	}

	p = h.plan([]object{{"operation": "setConfigKey", "kind": "ConfigMap", "name": "region", "key": "REGION", "value": "east"}})
	if names(p.Assignments.Changed) != "small/shop-near small/shop-test" || len(p.Configuration) != 2 || *p.Configuration[0].Before != "west" || *p.Configuration[0].After != "east" || !strings.HasSuffix(p.Configuration[0].Place, "config.yaml:7") {
		t.Errorf("%+v", p)
	}
	if p.FileCount != 2 || !strings.Contains(p.Files[0].Diff, "east") {
		t.Errorf("%+v", p.Files)
	}
	if one := h.plan([]object{{"operation": "setConfigKey", "kind": "ConfigMap", "name": "region", "key": "REGION", "value": "east"}}, "?file="+p.Files[1].Path); len(one.Files) != 1 || one.Files[0].Diff != p.Files[1].Diff || one.FileCount != 2 {
		t.Errorf("%+v", one.Files)
	}

	// values that are hidden are so in all of it
	a := h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": []object{{"operation": "setConfigKey", "kind": "ConfigMap", "name": "region", "key": "DB_PASSWORD", "value": "another-secret"}}})
	if a.StatusCode != http.StatusOK || strings.Contains(string(a.body), "hunter2") || strings.Contains(string(a.body), "another-secret") {
		t.Errorf("%s: %s", a.Status, a.body)
	}

	for reason, edits := range map[string][]object{
		"says so already":  {{"operation": "setLabel", "kind": "ClusterType", "name": "small", "key": "edge", "value": "true"}},
		"by the label gpu": {{"operation": "setLabel", "kind": "ClusterType", "name": "small", "key": "gpu", "value": "true"}},
		"wants edge=true":  {{"operation": "setLabel", "kind": "ClusterType", "name": "large", "key": "edge", "value": "no"}},
	} {
		if p := h.plan(edits); !strings.Contains(p.UnchangedBecause, reason) {
			t.Errorf("%q, want %q", p.UnchangedBecause, reason)
		}
	}

	// what an edit breaks is found, and is no error
	p = h.plan([]object{{"operation": "putObject", "content": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: odd}\nspec: {reconciler: none, namespaceService: default}\n"}})
	if !slices.ContainsFunc(p.Findings, func(f propose.Finding) bool { return f.New && strings.Contains(f.Message, "none") }) {
		t.Errorf("%+v", p.Findings)
	}
	// what the environment takes from its base is edited there
	p = h.plan([]object{{"operation": "setLabel", "kind": "WorkloadRegistration", "name": "shop", "key": "tier", "value": "one"}})
	if p.Branch != "main" || len(p.Source.Files) != 1 || p.Source.Files[0].Path != "registrations/shop.yaml" {
		t.Errorf("%+v", p)
	}
	p = h.plan([]object{{"operation": "putObject", "content": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: shop}\nspec:\n  workload: {repo: " + h.forge.URL + "/acme/shop, branch: main, path: workload}\n  workspace: others\n"}})
	if p.Branch != "main" || len(p.Source.Files) != 1 || p.Source.Files[0].Change != "changed" || p.Assignments.ChangedCount+p.Assignments.LostCount == 0 {
		t.Errorf("%+v", p)
	}
	if n := len(h.auditOf("/api/v1/plans")); n != 0 {
		t.Errorf("%d plans are in the audit", n)
	}
}

// auditOf are the outcomes in the audit of a path, the newest first.
func (h *hub) auditOf(path string) (outcomes []string) {
	h.Helper()
	list, err := h.store.AuditLog(h.Context(), store.Page{Limit: 500})
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Subject == path {
			outcomes = append(outcomes, e.Outcome+" "+e.Detail)
		}
	}
	return outcomes
}

func TestBadEdits(t *testing.T) {
	h := newHub(t)
	bomb := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: bomb}\nspec:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i, name := range strings.Split("bcdefghi", "") {
		bomb += fmt.Sprintf("  %s: &%[1]s [%s]\n", name, strings.TrimSuffix(strings.Repeat("*"+string("abcdefghi"[i])+",", 10), ","))
	}
	label := func(name, key, value string) []object {
		return []object{{"operation": "setLabel", "kind": "ClusterType", "name": name, "key": key, "value": value}}
	}
	for name, c := range map[string]struct {
		body     any
		status   int
		location string
		hint     string
	}{
		"no JSON":                   {`{"environment":`, 400, "body", ""},
		"an unknown field":          {object{"environment": "dev", "edits": removeLabel, "force": true}, 422, "body.force", ""},
		"an unknown operation":      {object{"environment": "dev", "edits": []object{{"operation": "setLable", "kind": "ClusterType"}}}, 422, "body.edits[0].operation", ""},
		"no edits":                  {object{"environment": "dev", "edits": []object{}}, 422, "body.edits", ""},
		"another environment":       {object{"environment": "deb", "edits": removeLabel}, 404, "body.environment", "dev"},
		"an object that is not":     {object{"environment": "dev", "edits": label("smal", "a", "b")}, 404, "body.edits[0]", "small"},
		"a label of Kubernetes not": {object{"environment": "dev", "edits": append(label("small", "a", "b"), label("small", "a b", "c")...)}, 422, "body.edits[1]", ""},
		"a value of it not":         {object{"environment": "dev", "edits": label("small", "a", "-b-")}, 422, "body.edits[0]", ""},
		"shared by an anchor":       {object{"environment": "dev", "edits": label("one", "size", "huge")}, 422, "body.edits[0]", ""},
		"an alias bomb":             {object{"environment": "dev", "edits": []object{{"operation": "putObject", "content": bomb}}}, 422, "body.edits[0]", ""},
		"a bomb in a file":          {object{"environment": "dev", "edits": []object{{"operation": "putFile", "path": "bomb.yaml", "content": bomb}}}, 422, "body.edits", ""},
		"a file outside":            {object{"environment": "dev", "edits": []object{{"operation": "putFile", "path": "../x.yaml", "content": "a"}}}, 403, "body.edits[0]", ""},
		"a workflow":                {object{"environment": "dev", "edits": []object{{"operation": "putFile", "path": ".github/workflows/x.yaml", "content": "a"}}}, 403, "body.edits[0]", ""},
		"who approves":              {object{"environment": "dev", "edits": []object{{"operation": "putFile", "path": "docs/CODEOWNERS", "content": "* @me"}}}, 403, "body.edits[0]", ""},
		"a file that is not":        {object{"environment": "dev", "edits": []object{{"operation": "putFile", "path": "confg.yaml"}}}, 404, "body.edits[0]", "config.yaml"},
		"what is hidden":            {object{"environment": "dev", "edits": []object{{"operation": "setConfigKey", "kind": "ConfigMap", "name": "region", "key": "DB_PASSWORD", "value": "REDACTED"}}}, 422, "body.edits[0]", ""},
		"a body that is too large":  {`{"environment":"dev","edits":[{"operation":"putFile","path":"a.yaml","content":"` + strings.Repeat("a", 1<<20) + `"}]}`, 413, "", ""},
	} {
		a := h.do(http.MethodPost, "/plans", c.body)
		p := a.problem()
		if a.StatusCode != c.status || a.location() != c.location || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("%s: %s, %s: %s", name, a.Status, a.location(), a.body)
		}
	}
	if a := h.do(http.MethodPost, "/plans?dryrun=true", object{"environment": "dev", "edits": removeLabel}); a.StatusCode != 422 || a.location() != "query.dryrun" {
		t.Errorf("an unknown parameter: %s: %s", a.Status, a.body)
	}
	if a := h.do(http.MethodPost, "/plans", "a: b", "Content-Type", "application/yaml"); a.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("another content type: %s: %s", a.Status, a.body)
	}
	// the place of what cannot be edited is that in the file
	a := h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": label("one", "size", "huge")})
	if position, _ := a.problem().Errors[0].Value.(map[string]any); position["file"] != "shared.yaml" || position["line"] != float64(5) {
		t.Errorf("%s", a.body)
	}
}

func TestPlansOfWorkspaces(t *testing.T) {
	h := newHub(t)
	other := h.token("other", api.Viewer, store.Scope{Workspaces: []string{"others"}})
	p := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": removeLabel}, "Authorization", "Bearer "+other))
	if len(p.Assignments.Lost)+len(p.Files)+p.Assignments.LostCount > 0 || len(p.PolicyTests.Failed) > 0 {
		t.Errorf("%+v", p)
	}
	stage := h.token("stage", api.Proposer, store.Scope{Environments: []string{"stage"}})
	if a := h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": removeLabel}, "Authorization", "Bearer "+stage); a.StatusCode != http.StatusNotFound {
		t.Errorf("of another environment: %s: %s", a.Status, a.body)
	}
	// what belongs to others is not there, whatever is to be done to it
	shop := object{"kind": "WorkloadRegistration", "name": "shop"}
	registration := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: shop}\nspec: {workload: {repo: " + h.forge.URL + "/acme/shop, branch: main, path: a}, workspace: others}\n"
	for name, c := range map[string]struct {
		edit   object
		status int
	}{
		"a label":     {object{"operation": "setLabel", "kind": shop["kind"], "name": shop["name"], "key": "a", "value": "b"}, http.StatusNotFound},
		"no label":    {object{"operation": "setLabel", "kind": shop["kind"], "name": shop["name"], "key": "a b", "value": "b"}, http.StatusNotFound},
		"it goes":     {object{"operation": "deleteObject", "kind": shop["kind"], "name": shop["name"]}, http.StatusNotFound},
		"it is taken": {object{"operation": "putObject", "content": registration}, http.StatusNotFound},
		"another":     {object{"operation": "deleteObject", "kind": shop["kind"], "name": "shopp"}, http.StatusNotFound},
		"a file":      {object{"operation": "putFile", "path": "theirs.yaml", "content": "a: b"}, http.StatusForbidden},
	} {
		h.forge.Push(control, "dev", map[string]string{"theirs.yaml": strings.NewReplacer("name: shop", "name: other", "others", "team").Replace(registration)})
		h.seen()
		a := h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": []object{c.edit}}, "Authorization", "Bearer "+other)
		if a.StatusCode != c.status || strings.Contains(a.problem().Hint, "shop") {
			t.Errorf("%s: %s: %s", name, a.Status, a.body)
		}
	}
	if a := h.do(http.MethodPatch, "/environments/dev/registrations/shop?dryRun=true", "{}", "Authorization", "Bearer "+h.token("changes", api.Proposer, store.Scope{Workspaces: []string{"others"}}), "Content-Type", "application/merge-patch+json"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a patch of others' registration: %s: %s", a.Status, a.body)
	}
	// nor is what stands beside what is theirs
	h.forge.Push(control, "dev", map[string]string{"both.yaml": strings.ReplaceAll(registration, "name: shop", "name: mine") + "---\n" + strings.NewReplacer("name: shop", "name: beside", "others", "team").Replace(registration)})
	h.seen()
	beside := read[propose.Plan](h, http.StatusOK, h.do(http.MethodPost, "/plans", object{"environment": "dev", "edits": []object{{"operation": "setLabel", "kind": shop["kind"], "name": "mine", "key": "a", "value": "b"}}}, "Authorization", "Bearer "+other))
	if len(beside.Source.Files) != 1 || beside.Source.Files[0].Diff != "" {
		t.Errorf("%+v", beside.Source)
	}
	proposer := h.token("proposer", api.Proposer, store.Scope{Workspaces: []string{"team"}})
	for _, c := range []struct {
		edits  []object
		status int
	}{
		{removeLabel, http.StatusForbidden},
		{[]object{{"operation": "setLabel", "kind": "WorkloadRegistration", "name": "shop", "key": "tier", "value": "one"}}, http.StatusCreated},
	} {
		a := h.do(http.MethodPost, "/proposals", object{"environment": "dev", "edits": c.edits, "title": "Mine"}, "Authorization", "Bearer "+proposer, "Idempotency-Key", fmt.Sprint(c.edits))
		if a.StatusCode != c.status {
			t.Errorf("%v: %s: %s", c.edits, a.Status, a.body)
		}
	}
}
