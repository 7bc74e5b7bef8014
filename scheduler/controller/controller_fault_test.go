package controller

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

var errDown = errors.New("the forge is down")

// deployed is a fixture whose environments have been published and merged.
func deployed(t *testing.T, environments ...string) *forgefake.Forge {
	f := newPlatform(environments...)
	bubble(t, f, nil, func(*running) {})
	for _, pr := range f.AllPullRequests(gitOps) {
		f.Merge(gitOps, pr.Number)
	}
	return f
}

// TestFault05ReadErrorDoesNotShrinkThePlan lets reading fail in all ways, at
// everything that an environment is read from. What is deployed stays, no pull
// request asks for less, and no issue is closed; when it can be read again,
// all is as before.
func TestFault05ReadErrorDoesNotShrinkThePlan(t *testing.T) {
	reads := func(repo, branch string) func(forgefake.Call) bool {
		return func(c forgefake.Call) bool {
			return c.Method == "Read" && c.Repo == forgefake.URL(repo) && c.Detail == branch
		}
	}
	method := func(names ...string) func(forgefake.Call) bool {
		return func(c forgefake.Call) bool { return slices.Contains(names, c.Method) }
	}
	for name, test := range map[string]struct {
		fails  func(forgefake.Call) bool
		partly bool // the plan is made, and published as far as can be
	}{
		"everything":                {func(forgefake.Call) bool { return true }, false},
		"all reads":                 {method("Read"), false},
		"the environment's branch":  {reads(platform, "dev"), false},
		"the base":                  {reads(platform, "main"), false},
		"the workload":              {reads(app, "main"), false},
		"the GitOps branch":         {reads(gitOps, "dev"), false},
		"all lists":                 {method("PullRequests", "Issues"), false},
		"the list of pull requests": {method("PullRequests"), true},
		"the list of issues":        {method("Issues"), true},
		"the scheduler's branch":    {reads(gitOps, "kalypso/dev"), true},
	} {
		for _, reason := range []error{errDown, io.ErrUnexpectedEOF} {
			t.Run(fmt.Sprintf("%s, %v", name, reason), func(t *testing.T) {
				f := deployed(t, "dev")
				f.Push(platform, "dev", map[string]string{"config.yaml": config("'{{ nothing }}'")}) // an issue is open
				bubble(t, f, nil, func(r *running) {
					before := r.status("dev")
					if len(before.Issues) != 1 {
						t.Fatalf("no issue is open: %+v", before)
					}
					state := everything(f)
					f.Down(func(c forgefake.Call) error {
						if test.fails(c) {
							return reason
						}
						return nil
					})
					since := time.Now()
					f.Calls()
					r.push(platform, "dev", map[string]string{"policy.yaml": "", "cluster.yaml": "", "config.yaml": ""})
					r.notify("push", platform, "dev")
					down := r.status("dev")
					if !test.partly {
						if w := writes(f); len(w) > 0 {
							t.Errorf("writes %v", w)
						}
						if diff := cmp.Diff(state, everything(f)); diff != "" {
							t.Errorf("forge (-before +after):\n%s", diff)
						}
					}
					if down.State != Failed || !strings.Contains(down.Error, reason.Error()) || down.ErrorSince == nil || !down.ErrorSince.Equal(since) {
						t.Errorf("status %+v", down)
					}
					if down.Commit == "" || len(down.Issues) == 0 || down.Issues[0] != before.Issues[0] {
						t.Errorf("the last good state is gone: %+v", down)
					}
					f.Down(nil)
					r.push(platform, "dev", map[string]string{
						"policy.yaml":  object("SchedulingPolicy", "all", "", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
						"cluster.yaml": object("ClusterType", "drone", "", "{reconciler: reconciler, namespaceService: namespace, configType: config}"),
						"config.yaml":  config("east"),
					})
					r.notify("push", platform, "dev")
					r.pass(2 * time.Minute)
					if s := r.status("dev"); s.State != Synced || s.Error != "" || s.ErrorSince != nil || len(s.Issues) > 0 || s.PullRequest != nil {
						t.Errorf("not recovered: %+v", s)
					}
				})
			})
		}
	}
}

// modelIssue is the title of the issue about what cannot be used of the model.
const modelIssue = "Can't use all of the platform model in dev environment"

// writes are the calls that change something else than that issue.
func writes(f *forgefake.Forge) []forgefake.Call {
	return slices.DeleteFunc(f.Writes(), func(c forgefake.Call) bool { return c.Method == "SaveIssue" && c.Detail == modelIssue })
}

// everything words what users see of the forge, but for the model's issue.
func everything(f *forgefake.Forge) (lines []string) {
	for _, pr := range f.AllPullRequests(gitOps) {
		lines = append(lines, fmt.Sprintf("%+v %v", pr, f.Comments(gitOps, pr.Number)))
	}
	for _, i := range f.AllIssues(gitOps) {
		if i.Title == modelIssue {
			continue
		}
		lines = append(lines, fmt.Sprintf("%+v %v", i, f.Comments(gitOps, i.Number)))
	}
	for _, branch := range []string{"dev", "stage", "kalypso/dev", "kalypso/stage"} {
		files := f.Files(gitOps, branch)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			lines = append(lines, branch+" "+path+" "+files[path])
		}
	}
	return lines
}

// TestFault05WhatIsGoneIsNoOrderToRemove takes away what an environment is
// read from. That may be a mistake, or lost rights, which forges word the same
// way: what is deployed stays until the model says otherwise.
func TestFault05WhatIsGoneIsNoOrderToRemove(t *testing.T) {
	for name, take := range map[string]struct {
		remove func(*forgefake.Forge)
		// failed, not synced with a problem
		failed bool
	}{
		"the workload's repository": {func(f *forgefake.Forge) { f.DeleteRepo(app) }, false},
		"the workload's branch":     {func(f *forgefake.Forge) { f.DeleteByUser(app, "main") }, false},
		"the base's branch":         {func(f *forgefake.Forge) { f.DeleteByUser(platform, "main") }, false},
		"the environment's branch":  {func(f *forgefake.Forge) { f.DeleteByUser(platform, "dev") }, true},
		"the control plane":         {func(f *forgefake.Forge) { f.DeleteRepo(platform) }, true},
		"the GitOps branch":         {func(f *forgefake.Forge) { f.DeleteByUser(gitOps, "dev") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := deployed(t, "dev")
			bubble(t, f, nil, func(r *running) {
				take.remove(f)
				state := everything(f)
				f.Calls()
				for repo, branches := range map[string][]string{app: {"main"}, platform: {"main", "dev"}, gitOps: {"dev"}} {
					for _, branch := range branches {
						r.notify("delete", repo, branch)
					}
				}
				r.pass(2 * time.Minute)
				if w := writes(f); len(w) > 0 {
					t.Errorf("writes %v", w)
				}
				if diff := cmp.Diff(state, everything(f)); diff != "" {
					t.Errorf("forge (-before +after):\n%s", diff)
				}
				s := r.status("dev")
				if issues := f.AllIssues(gitOps); !take.failed && (len(s.Issues) != 1 || issues[len(issues)-1].Title != modelIssue) {
					t.Errorf("no issue says so: %+v", s.Issues)
				}
				if take.failed != (s.State == Failed) || !take.failed && len(s.Problems) == 0 {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// TestFault05GitOpsRepositoryIsGone publishes nowhere else.
func TestFault05GitOpsRepositoryIsGone(t *testing.T) {
	f := deployed(t, "dev")
	bubble(t, f, nil, func(r *running) {
		f.DeleteRepo(gitOps)
		f.Calls()
		r.notify("push", platform, "dev")
		if s := r.status("dev"); s.State != Failed || !strings.Contains(s.Error, "not found") {
			t.Errorf("status %+v", s)
		}
		if w := f.Writes(); len(w) > 0 {
			t.Errorf("writes %v", w)
		}
	})
}

// TestOneEnvironmentsFailureStopsNoOther breaks one environment in all ways
// and expects the other to go on.
func TestOneEnvironmentsFailureStopsNoOther(t *testing.T) {
	dev := func(c forgefake.Call) bool { return c.Repo == forgefake.URL(platform) && c.Detail == "dev" }
	never := make(chan struct{})
	for name, broken := range map[string]struct {
		fault  func(*forgefake.Forge)
		status string // of dev, in its error
	}{
		"cannot be read": {func(f *forgefake.Forge) {
			f.Down(func(c forgefake.Call) error {
				if dev(c) {
					return errDown
				}
				return nil
			})
		}, "the forge is down"},
		"cannot be written": {func(f *forgefake.Forge) {
			f.Down(func(c forgefake.Call) error {
				if c.Write && strings.HasSuffix(c.Detail, "dev") {
					return errDown
				}
				return nil
			})
		}, "the forge is down"},
		"panics": {func(f *forgefake.Forge) {
			f.OnCall(func(c forgefake.Call) {
				if dev(c) && c.Method == "Read" {
					panic("out of luck")
				}
			})
		}, "mistake in the scheduler: out of luck"},
		"hangs": {func(f *forgefake.Forge) {
			f.OnCall(func(c forgefake.Call) {
				if dev(c) && c.Method == "Read" {
					<-never
				}
			})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newPlatform("dev", "stage")
			synctest.Test(t, func(t *testing.T) {
				never = make(chan struct{})
				r, stop := start(t, f, nil)
				synctest.Wait()
				broken.fault(f)
				for _, e := range []string{"dev", "stage"} {
					r.push(platform, e, map[string]string{"config.yaml": config("west")})
				}
				r.notify("push", platform, "dev")
				r.notify("push", platform, "stage")
				r.pass(5 * time.Minute)
				if got := f.Files(gitOps, "kalypso/stage")["drone/web-stage/platform-config.yaml"]; !strings.Contains(got, "west") {
					t.Errorf("stage: %q", got)
				}
				if s := r.status("stage"); s.State != Synced || s.Error != "" {
					t.Errorf("stage: %+v", s)
				}
				s := r.status("dev")
				if s.PullRequest == nil || s.PullRequest.State != forge.Open || s.Assignments != 1 || !strings.Contains(s.Error, broken.status) {
					t.Errorf("dev: %+v", s)
				}
				if name == "hangs" {
					if s.State != Planning {
						t.Errorf("dev: %+v", s)
					}
				} else if s.ErrorSince == nil || s.Runs < 5 {
					t.Errorf("dev is not tried again: %+v", s)
				}
				close(never)
				f.OnCall(nil)
				f.Down(nil)
				r.pass(5 * time.Minute)
				if s := r.status("dev"); s.State != Synced || s.Error != "" {
					t.Errorf("dev has not recovered: %+v", s)
				}
				stop()
			})
		})
	}
}

// TestControlPlaneIsUnreadable keeps following what was followed, says so once,
// and tries again.
func TestControlPlaneIsUnreadable(t *testing.T) {
	f := newPlatform("dev", "stage")
	bubble(t, f, nil, func(r *running) {
		since := time.Now()
		f.Down(func(c forgefake.Call) error {
			if c.Repo == forgefake.URL(platform) && c.Detail == "main" {
				return errDown
			}
			return nil
		})
		commit := r.Status().ControlPlane.Commit
		r.push(platform, "main", map[string]string{".environments/stage.yaml": ""})
		r.notify("push", platform, "main")
		r.pass(3 * time.Minute)
		c := r.Status().ControlPlane
		if !strings.Contains(c.Error, "the forge is down") || c.ErrorSince == nil || !c.ErrorSince.Equal(since) || c.Commit != commit {
			t.Errorf("control plane %+v", c)
		}
		for _, e := range []string{"dev", "stage"} {
			if r.status(e).Name == "" {
				t.Errorf("%s is followed no more", e)
			}
		}
		if n := strings.Count(r.log.String(), `level=ERROR msg="control plane"`); n != 1 {
			t.Errorf("the same error was logged %d times:\n%s", n, r.log)
		}
		f.Down(nil)
		r.pass(2 * time.Minute)
		if c := r.Status().ControlPlane; c.Error != "" || c.ErrorSince != nil || c.Commit == commit {
			t.Errorf("control plane %+v", c)
		}
		if r.status("stage").Name != "" {
			t.Error("stage is followed though it was removed")
		}
	})
}
