//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// browseHub opens the hub's pages, which say what the command line does.
func browseHub(t *testing.T, m *machine) { lookAtHub(t, m) }

// routes matches the paths of the pages in the app's source.
var routes = regexp.MustCompile(`<Route path="([^"]+)"`)

// lookAtHub runs the script that looks at all of the hub's pages, with further variables.
func lookAtHub(t *testing.T, m *machine, env ...string) {
	t.Helper()
	app, err := os.ReadFile(filepath.Join("..", "hub", "web", "src", "app.tsx"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, match := range routes.FindAllSubmatch(app, -1) {
		paths = append(paths, string(match[1]))
	}
	known, err := json.Marshal(paths)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Environment string `json:"environment"`
		Cluster     string `json:"cluster"`
		ClusterType string `json:"clusterType"`
		Target      string `json:"target"`
		Version     string `json:"version"`
		State       string `json:"state"`
	}
	var all []shown
	for _, p := range m.placements("dev") {
		version := p.Actual.Version
		if version == "" {
			version = p.Actual.Commit[:min(len(p.Actual.Commit), 8)]
		}
		all = append(all, shown{p.Environment, p.Cluster, p.ClusterType, p.Target, version, p.State})
	}
	if len(all) == 0 {
		t.Fatal("there is no placement to look at")
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	openHub(t, m, "hub.mjs", append(env, "PLACEMENTS="+string(data), "ROUTES="+string(known))...)
}

// openHub runs a script with a link that lets it into the sandbox's hub.
func openHub(t *testing.T, m *machine, script string, env ...string) {
	t.Helper()
	b := newBrowser(t, m)
	link := strings.TrimSpace(m.run("open", "hub", "--print").stdout)
	b.check(t, filepath.Join(b.dir, script), append(env, "HUB_LINK="+link)...)
}

// proposeInBrowser removes a label in a form of the hub, and proposes that. The page has what the
// command line plans of a clone with the same edit, and the forge has the pull request; the
// branch stays as it is.
func proposeInBrowser(t *testing.T, m *machine) {
	const environment, clusterType, label, title = "dev", "drone", "edge", "The edge without drones"
	clone := filepath.Join(t.TempDir(), "clone")
	m.git("", "clone", "--quiet", "--branch", environment, m.credentials().OrgURL+"/kalypso-control-plane", clone)
	before, _ := m.planOf(clone, environment)
	m.run("edit", "remove-label", "clustertypes/"+clusterType, label, "-e", environment, "--control-plane", clone, "--write")
	after, files := m.planOf(clone, environment)
	only := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
	}
	plan, err := json.Marshal(map[string]any{
		"environment": environment, "clusterType": clusterType, "label": label, "title": title,
		"gained": only(after, before), "lost": only(before, after), "files": files,
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(before, after) || len(files) == 0 {
		t.Fatalf("the edit changes nothing: %s", plan)
	}
	head := m.heads()
	openHub(t, m, "what-if.mjs", "PLAN="+string(plan))
	n := 0
	for _, p := range m.pulls("kalypso-control-plane") {
		if p.Title != title {
			continue
		}
		if n++; p.Base.Ref != environment || p.State != "closed" || p.Merged {
			t.Errorf("%+v", p)
		}
	}
	if n != 1 {
		t.Errorf("the forge has %d pull requests of that title, not 1", n)
	}
	now := m.heads()
	for branch, commit := range head {
		if now[branch] != commit {
			t.Errorf("%s was at %s, and is at %s", branch, commit, now[branch])
		}
	}
}

// planOf is what is planned of a clone of the control plane: the assignments as TYPE/TARGET,
// sorted, and what changes in each file.
func (m *machine) planOf(clone, environment string) (assignments []string, files map[string]string) {
	m.t.Helper()
	var document struct {
		Environments []struct {
			Assignments []struct{ ClusterType, Target string }
			Changes     []struct{ Path, Diff string }
		}
	}
	m.decode(m.run("plan", "-e", environment, "--control-plane", clone, "-o", "json").stdout, &document)
	if len(document.Environments) != 1 {
		m.t.Fatalf("%+v", document)
	}
	assignments, files = []string{}, map[string]string{}
	for _, c := range document.Environments[0].Changes {
		files[c.Path] = c.Diff
	}
	for _, a := range document.Environments[0].Assignments {
		assignments = append(assignments, a.ClusterType+"/"+a.Target)
	}
	slices.Sort(assignments)
	return assignments, files
}
