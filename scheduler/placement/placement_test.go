package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	gitOps = "http://forge/acme/gitops"
	app    = "http://forge/acme/app-gitops"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// commit is the nth of a branch; the first is 1, and each is a minute after the one before.
// 0 is none.
func commit(n int) string {
	if n == 0 {
		return ""
	}
	return strings.Repeat(fmt.Sprint(n), 40)
}

// branches has histories of five commits by repository, and the numbers of the commits that
// have changed folders last.
type branches struct {
	changed map[string]int
	failed  error
}

func (b branches) History(_ context.Context, repo, branch string, folders []string) (*gitclient.History, error) {
	if b.failed != nil && repo == app {
		return nil, b.failed
	}
	h := &gitclient.History{Whole: true, Changed: map[string]int{}}
	for n := 5; n > 0; n-- {
		h.Commits = append(h.Commits, gitclient.HistoryCommit{ID: commit(n), When: now.Add(time.Duration(n-6) * time.Minute)})
	}
	for _, f := range folders {
		h.Changed[f] = 5 - b.changed[repo+"/"+f]
	}
	return h, nil
}

func (b branches) Versions(_ context.Context, repo, _, commit string) (map[string]string, error) {
	if repo != app {
		return nil, model.ErrNotFound
	}
	return map[string]string{"web-dev": "0.0." + commit[:1]}, nil
}

// files are an assignment of web-dev to drone by Flux and to large by Argo CD, and one of a
// target that has configuration alone.
var files = map[string][]byte{
	"env/drone/web-dev/namespace.yaml": []byte("kind: Namespace\n"),
	"env/drone/web-dev/reconciler.yaml": []byte(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: web-dev, namespace: flux-system}
spec: {url: ` + app + `, ref: {branch: dev}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web-dev, namespace: flux-system}
spec: {path: ./web, sourceRef: {kind: GitRepository, name: web-dev}}
`),
	"env/large/web-dev/reconciler.yaml": []byte(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web-dev, namespace: argocd}
spec: {source: {repoURL: ` + app + `, targetRevision: dev, path: ./web}}
`),
	"env/edge/web-dev/reconciler.yaml":        []byte("- name: web\n  hosts: all\n  roles: [service]\n"),
	"env/small/conf-dev/platform-config.yaml": []byte("kind: ConfigMap\n"),
	"env/drone/extras/more.yaml": []byte(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: users, namespace: flux-system}
`),
}

func ref(name string) *fleet.Ref { return &fleet.Ref{Namespace: "flux-system", Name: name} }

// platform is the subscription to the folder of a cluster type.
func platform(clusterType string, applied int, state fleet.State, reason string) fleet.Subscription {
	return fleet.Subscription{
		Kind: fleet.Kustomization, Ref: *ref("platform"), Source: ref("platform"), Repo: gitOps + ".git", Branch: "dev", Path: "./env/" + clusterType,
		Commit: commit(5), Applied: commit(applied), State: state, Reason: reason, At: now.Add(-time.Hour),
	}
}

func web(applied int, state fleet.State, reason string) fleet.Subscription {
	return fleet.Subscription{
		Kind: fleet.Kustomization, Ref: *ref("web-dev"), Source: ref("web-dev"), Repo: app, Branch: "dev", Path: "./web", Parent: ref("platform"),
		Commit: commit(5), Applied: commit(applied), State: state, Reason: reason, At: now.Add(-time.Hour),
	}
}

func TestStates(t *testing.T) {
	application := func(change func(*fleet.Subscription)) fleet.Subscription {
		s := web(4, fleet.Compliant, "")
		s.Kind, s.Namespace, s.Source, s.Parent, s.Commit = fleet.Application, "argocd", nil, nil, commit(4)
		change(&s)
		return s
	}
	host := func() fleet.Subscription {
		s := platform("edge", 5, fleet.Compliant, "")
		s.Kind = fleet.Playbook
		return s
	}()
	playbook := func(name string, applied int, state fleet.State, reason string) fleet.Subscription {
		s := web(applied, state, reason)
		s.Kind, s.Ref, s.Source, s.Repo, s.Path = fleet.Playbook, fleet.Ref{Namespace: "platform", Name: name}, nil, gitOps, "env/edge/"+name
		return s
	}
	byHand := playbook("web-dev", 4, fleet.Compliant, "")
	byHand.Edited, byHand.EditedAt = "main.yml:3", now.Add(-time.Minute)
	other := web(5, fleet.Compliant, "")
	other.Ref = *ref("old-dev")
	users := web(5, fleet.Compliant, "")
	users.Ref = *ref("users")
	joined := func(s fleet.Subscription) fleet.Subscription { s.At = now.Add(-time.Second); return s }
	inWave := func(s fleet.Subscription) fleet.Subscription {
		s.Wave, s.Commit = "canary", s.Applied
		return s
	}
	suspended := platform("drone", 1, fleet.Suspended, "it is suspended")
	for name, c := range map[string]struct {
		all    []fleet.Subscription
		change func(*fleet.Cluster)
		now    string // a folder that the newest commit has changed
		failed error
		want   []State
		reason string // of the first
		actual int    // of the first
		since  time.Duration
		later  time.Duration // that the fleet is asked
	}{
		"it has the commit":                  {all: []fleet.Subscription{platform("drone", 3, fleet.Compliant, ""), web(4, fleet.Compliant, "")}, want: []State{OK}, actual: 4, since: time.Hour},
		"it has a later one":                 {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(5, fleet.Compliant, "")}, want: []State{OK}, actual: 5, since: time.Hour},
		"a later one is pending":             {all: []fleet.Subscription{platform("drone", 5, fleet.Pending, "x"), web(4, fleet.Pending, "revision 5 is not applied yet")}, want: []State{OK}, actual: 4, since: time.Hour},
		"it has an earlier one":              {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(3, fleet.Compliant, "")}, want: []State{Rolling}, reason: "44444444", actual: 3, since: 2 * time.Minute},
		"it was assigned only now":           {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(0, fleet.Pending, "in progress")}, now: "env/drone/web-dev", want: []State{Rolling}, reason: "in progress", since: time.Minute},
		"the cluster follows it only now":    {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), joined(web(0, fleet.Pending, "in progress"))}, want: []State{Rolling}, reason: "in progress", since: time.Second},
		"it is not healthy yet":              {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(5, fleet.Pending, "in progress")}, want: []State{Late}, reason: "in progress", actual: 5, since: time.Hour},
		"it failed":                          {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(3, fleet.NonCompliant, "no such folder")}, want: []State{Failing}, reason: "no such folder", actual: 3, since: time.Hour},
		"the platform failed after it":       {all: []fleet.Subscription{platform("drone", 3, fleet.NonCompliant, "broken"), web(4, fleet.Compliant, "")}, want: []State{OK}, actual: 4, since: time.Hour},
		"the platform failed before it":      {all: []fleet.Subscription{platform("drone", 2, fleet.NonCompliant, "broken")}, want: []State{Failing}, reason: "broken", since: time.Hour},
		"the platform has an earlier commit": {all: []fleet.Subscription{platform("drone", 2, fleet.Pending, "fetching")}, want: []State{Rolling}, reason: "fetching", since: 3 * time.Minute},
		"a day later":                        {all: []fleet.Subscription{platform("small", 2, fleet.Compliant, "")}, want: []State{Late}, reason: "33333333", actual: 2, since: 3 * time.Minute, later: 24 * time.Hour},
		"its wave does not have the commit":  {all: []fleet.Subscription{inWave(platform("small", 2, fleet.Compliant, ""))}, want: []State{Rolling}, reason: "wave canary", actual: 2, since: 3 * time.Minute, later: 24 * time.Hour},
		"its wave has a commit, and it not":  {all: []fleet.Subscription{inWave(platform("small", 2, fleet.Pending, "fetching"))}, want: []State{Late}, reason: "fetching", actual: 2, since: 3 * time.Minute, later: 24 * time.Hour},
		"the platform is suspended":          {all: []fleet.Subscription{suspended}, want: []State{Suspended}, reason: "suspended", since: time.Hour},
		"the object is not there":            {all: []fleet.Subscription{platform("drone", 3, fleet.Compliant, "")}, want: []State{Missing}, reason: "flux-system/web-dev", since: time.Hour},
		"one is there that nobody asks for":  {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(5, fleet.Compliant, ""), other, users}, want: []State{Extra, OK}, reason: "old-dev", actual: 5, since: time.Hour},
		"one is there that is to be removed": {all: []fleet.Subscription{platform("drone", 3, fleet.Compliant, ""), web(5, fleet.Compliant, ""), other}, want: []State{Rolling, OK}, reason: "removed", actual: 5, since: time.Minute},
		"its commit was pushed over":         {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(9, fleet.Compliant, "")}, want: []State{Unknown}, reason: "99999999", actual: 9, since: time.Hour},
		"its branch cannot be read":          {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(5, fleet.Compliant, "")}, failed: errors.New("access denied"), want: []State{Unknown}, reason: "access denied", actual: 5, since: time.Hour},
		"the cluster is offline":             {all: []fleet.Subscription{platform("drone", 5, fleet.Compliant, ""), web(4, fleet.Compliant, "")}, change: func(c *fleet.Cluster) { c.Forget("offline") }, want: []State{Unknown}, reason: "offline", actual: 4, since: 5 * time.Hour},
		"nothing is known of the cluster":    {change: func(c *fleet.Cluster) { c.Unknown = "no route" }, want: []State{Unknown}, reason: "no route", since: 5 * time.Hour},
		"another branch": {all: []fleet.Subscription{func() fleet.Subscription {
			s := platform("drone", 5, fleet.Compliant, "")
			s.Branch = "stage"
			return s
		}()}},
		"all types": {all: []fleet.Subscription{func() fleet.Subscription { s := platform("drone", 5, fleet.Compliant, ""); s.Path = "env"; return s }()}},
		"edited": {all: []fleet.Subscription{platform("large", 5, fleet.Compliant, ""), application(func(s *fleet.Subscription) {
			s.State, s.Objects = fleet.Pending, []fleet.Object{{Kind: "Deployment", Ref: fleet.Ref{Namespace: "n", Name: "web"}, OutOfSync: true}}
		})}, want: []State{Edited}, reason: "Deployment n/web", actual: 4, since: time.Hour},
		"out of sync with a commit that is new": {all: []fleet.Subscription{platform("large", 5, fleet.Compliant, ""), application(func(s *fleet.Subscription) {
			s.State, s.Applied, s.Objects = fleet.Pending, commit(3), []fleet.Object{{Kind: "Deployment", OutOfSync: true}}
		})}, want: []State{Rolling}, actual: 3, since: 2 * time.Minute},
		"Azure does not know Applications":         {all: []fleet.Subscription{platform("large", 5, fleet.Compliant, "")}, change: func(c *fleet.Cluster) { c.Approximate = true }, want: []State{Unknown}, reason: "argocd/web-dev", since: 5 * time.Hour},
		"a host has it":                            {all: []fleet.Subscription{host, playbook("web-dev", 4, fleet.Compliant, "")}, want: []State{OK}, actual: 4, since: time.Hour},
		"a host has an earlier commit":             {all: []fleet.Subscription{host, playbook("web-dev", 2, fleet.Pending, "it runs")}, want: []State{Rolling}, reason: "it runs", actual: 2, since: 3 * time.Minute},
		"a task has failed on a host":              {all: []fleet.Subscription{host, playbook("web-dev", 2, fleet.NonCompliant, "a.yml:3")}, want: []State{Failing}, reason: "a.yml:3", actual: 2, since: time.Hour},
		"a host was changed by hand":               {all: []fleet.Subscription{host, byHand}, want: []State{Edited}, reason: "main.yml:3", actual: 4, since: time.Minute},
		"a host has what nobody asks for":          {all: []fleet.Subscription{host, playbook("web-dev", 4, fleet.Compliant, ""), playbook("old-dev", 5, fleet.Compliant, "")}, want: []State{Extra, OK}, reason: "Playbook platform/old-dev", actual: 5, since: time.Hour},
		"configuration alone":                      {all: []fleet.Subscription{platform("small", 5, fleet.Compliant, "")}, want: []State{OK}, actual: 5, since: time.Hour},
		"configuration alone, and it is not there": {all: []fleet.Subscription{platform("small", 1, fleet.Compliant, "")}, want: []State{Rolling}, reason: "33333333", actual: 1, since: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fleet.Cluster{Name: "edge", Labels: map[string]string{"a": "b"}, LastSeen: now.Add(-5 * time.Hour), Subscriptions: c.all}
			if c.change != nil {
				c.change(&cluster)
			}
			git := branches{failed: c.failed, changed: map[string]int{
				gitOps + "/env/drone/web-dev": 3, gitOps + "/env/large/web-dev": 3, gitOps + "/env/small/conf-dev": 3, gitOps + "/env/edge/web-dev": 3, gitOps + "/env/edge": 5, gitOps + "/env/drone": 5, gitOps + "/env/large": 5, app + "/web": 4,
			}}
			if c.now != "" {
				git.changed[gitOps+"/"+c.now] = 5
			}
			env := Environment{Name: "dev", GitOps: model.Reference{Repo: gitOps, Branch: "dev", Path: "./env"}, Files: files}
			got, err := Of(t.Context(), env, fleet.Snapshot{At: now.Add(c.later), Clusters: []fleet.Cluster{cluster}}, git)
			if err != nil {
				t.Fatal(err)
			}
			var states []State
			for _, p := range got {
				states = append(states, p.State)
				if p.Cluster != "edge" || p.Environment != "dev" || p.Labels["a"] != "b" || (p.State == OK) != (p.Reason == "") && p.State != Rolling {
					t.Errorf("%+v", p)
				}
			}
			if diff := cmp.Diff(c.want, states); diff != "" {
				t.Fatalf("%s\n%+v", diff, got)
			}
			if len(got) == 0 {
				return
			}
			p := got[0]
			actual := ""
			if c.actual > 0 {
				actual = commit(c.actual)
			}
			if !strings.Contains(p.Reason, c.reason) || p.Actual.Commit != actual || now.Sub(p.Since) != c.since {
				t.Errorf("%+v, want reason %q, actual %.8s, since %s", p, c.reason, actual, c.since)
			}
			if p.Target == "web-dev" && p.Desired.Repo == app && c.failed == nil && (p.Desired.Commit != commit(4) || p.Desired.Version != "0.0.4" || p.Actual.Commit != "" && p.Actual.Version != "0.0."+p.Actual.Commit[:1]) {
				t.Errorf("versions: %+v", p)
			}
		})
	}
}

// TestABrokenBranchIsAnError, and no environment without assignments.
func TestABrokenBranchIsAnError(t *testing.T) {
	env := Environment{Name: "dev", Files: map[string][]byte{"drone/web/reconciler.yaml": []byte("kind: Kustomization\n  x: [")}}
	if all, err := Of(t.Context(), env, fleet.Snapshot{}, branches{}); err == nil || !strings.Contains(err.Error(), "drone/web/reconciler.yaml") {
		t.Errorf("%+v, %v", all, err)
	}
}
