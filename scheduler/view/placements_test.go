package view_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// TestPlacements reads what is desired, and the order of commits and versions, from a git
// server: a cluster on a later commit that did not touch the target has it, one on the
// commit before has not.
func TestPlacements(t *testing.T) {
	root := t.TempDir()
	server := httptest.NewServer(gitkit.Handler(t, root))
	defer server.Close()
	push := func(name string, files map[string]string) string {
		t.Helper()
		bare, work := filepath.Join(root, name+".git"), filepath.Join(root, "work-"+name)
		if _, err := os.Stat(bare); err != nil {
			gitkit.Run(t, root, "init", "-q", "--bare", "-b", "dev", bare)
			gitkit.Run(t, root, "init", "-q", "-b", "dev", work)
		}
		for file, content := range files {
			file = filepath.Join(work, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		gitkit.Run(t, work, "add", "-A")
		gitkit.Run(t, work, "commit", "-q", "-m", "x")
		gitkit.Run(t, work, "push", "-q", bare, "HEAD:refs/heads/dev")
		return gitkit.Run(t, work, "rev-parse", "HEAD")
	}
	gitOps, app := server.URL+"/gitops", server.URL+"/app"
	descriptor := func(version string) string {
		return "kind: DeploymentDescriptor\nspec: {workload: {name: web}, deploymentTarget: {name: east, environment: dev}, workloadVersion: {version: " + version + ", commit: c}}\n"
	}
	before := push("app", map[string]string{"east/a.yaml": "1", "descriptors/web-east.yaml": descriptor("1.0")})
	wanted := push("app", map[string]string{"east/a.yaml": "2", "descriptors/web-east.yaml": descriptor("2.0")})
	later := push("app", map[string]string{"west/a.yaml": "1"})
	platform := push("gitops", map[string]string{"drone/web-east/reconciler.yaml": `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web-east, namespace: argocd}
spec: {source: {repoURL: '` + app + `', targetRevision: dev, path: ./east}}
`})
	plane := t.TempDir()
	if err := os.WriteFile(filepath.Join(plane, "r.yaml"), []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: '"+gitOps+"', branch: dev, path: .}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := source.Open(t.Context(), source.Options{ControlPlane: plane, AllowedHosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := w.Load(t.Context(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	s.At = time.Now()
	for name, commit := range map[string]string{"before": before, "later": later} {
		s.Clusters = append(s.Clusters, fleet.Cluster{Name: name, Subscriptions: []fleet.Subscription{
			{Kind: fleet.Application, Ref: fleet.Ref{Namespace: "argocd", Name: "dev"}, Repo: gitOps, Branch: "dev", Path: "drone", Commit: platform, Applied: platform, State: fleet.Compliant},
			{Kind: fleet.Application, Ref: fleet.Ref{Namespace: "argocd", Name: "web-east"}, Repo: app, Branch: "dev", Path: "./east", Commit: commit, Applied: commit, State: fleet.Compliant},
		}})
	}
	kind, err := view.FindKind("placements")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := kind.ClusterRows(t.Context(), w, env, s)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for i, want := range []placement.Placement{
		{Cluster: "before", State: placement.Rolling, Actual: placement.Revision{Commit: before, Version: "1.0"}},
		{Cluster: "later", State: placement.OK, Actual: placement.Revision{Commit: later, Version: "2.0"}},
	} {
		p := rows[i].Document.(view.PlacementDocument)
		if p.Cluster != want.Cluster || p.State != want.State || p.Actual.Commit != want.Actual.Commit || p.Actual.Version != want.Actual.Version || p.Desired.Commit != wanted || p.Desired.Version != "2.0" {
			t.Errorf("%+v, want %+v", p, want)
		}
		if cells := strings.Join(rows[i].Cells, "|"); !strings.Contains(cells, want.Actual.Version+" ("+want.Actual.Commit[:8]+")|"+string(want.State)) {
			t.Errorf("cells %s", cells)
		}
	}
}
