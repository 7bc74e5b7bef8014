package ci

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// createPR is one run of a workflow that brings a file of its number.
func (r *runner) createPR(ctx context.Context, number int, env map[string]string, more ...string) (outputs, talk string, err error) {
	folder := r.TempDir()
	file := filepath.Join(folder, "app", "deployment.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.Error(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "image: app:%d\n", number), 0o600); err != nil {
		r.Error(err)
	}
	all := maps.Clone(r.env)
	maps.Copy(all, map[string]string{"GITHUB_RUN_NUMBER": strconv.Itoa(number), "GITHUB_WORKFLOW": "cicd", "GITHUB_OUTPUT": filepath.Join(folder, "output")})
	maps.Copy(all, env)
	var out, words bytes.Buffer
	step := &steps{
		App: &cmdutil.App{In: strings.NewReader(""), Out: &out, Err: &words},
		env: func(name string) string { return all[name] }, now: func() time.Time { return time.Unix(1700000000+int64(number), 0) },
		forge: func(ci.Environment) (ci.Forge, error) { return r.forge, nil },
	}
	root := r.root(step.command())
	root.SetArgs(append([]string{"ci", "create-pr", "--repo", "kalypso/app-gitops", "--base", "dev", "--from", folder}, more...))
	err = root.ExecuteContext(ctx)
	data, _ := os.ReadFile(filepath.Join(folder, "output")) // one that fails makes no file
	return string(data), words.String(), err
}

// TestEightRunsAtTheSameTime pushes to an application eight times in a row: no run
// fails, and the last one's files stay.
func TestEightRunsAtTheSameTime(t *testing.T) {
	r := newRunner(t, "kalypso/app-src")
	const repo = "kalypso/app-gitops"
	r.forge.Push(repo, "dev", map[string]string{"README.md": "read me", "app/deployment.yaml": "image: app:0\n"})
	r.forge.OnCall(func(forgefake.Call) { // the calls of all runs, in any order
		for range rand.IntN(300) {
			runtime.Gosched()
		}
	})
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			outputs, talk, err := r.createPR(t.Context(), n+1, nil, "--auto-merge")
			if err != nil {
				t.Errorf("run %d: %v\n%s", n+1, err, talk)
			}
			if brought := strings.Contains(outputs, "merged=true"); brought == strings.Contains(outputs, "overtaken=true") {
				t.Errorf("run %d has neither brought its files nor given way:\n%s", n+1, outputs)
			}
		})
	}
	wait.Wait()
	if got := r.forge.Files(repo, "dev")["app/deployment.yaml"]; got != "image: app:8\n" {
		t.Errorf("the branch has %q", got)
	}
	for _, pr := range r.forge.AllPullRequests(repo) {
		if pr.State == forge.Open {
			t.Errorf("left open: %+v", pr)
		}
	}
}

// TestOvertakenRunGivesWay: an earlier run that is late brings nothing, unless a user
// has started it again.
func TestOvertakenRunGivesWay(t *testing.T) {
	for _, merge := range [][]string{nil, {"--auto-merge"}} {
		r := newRunner(t, "kalypso/app-src")
		const repo = "kalypso/app-gitops"
		r.forge.Push(repo, "dev", map[string]string{"app/deployment.yaml": "image: app:0\n"})
		image := func() string {
			for _, pr := range r.forge.AllPullRequests(repo) {
				if pr.State == forge.Open {
					return r.forge.Files(repo, pr.Head)["app/deployment.yaml"]
				}
			}
			return r.forge.Files(repo, "dev")["app/deployment.yaml"]
		}
		for _, c := range []struct {
			run       int
			env       map[string]string
			overtaken bool
			want      int
		}{
			{run: 4, want: 4},
			{run: 3, overtaken: true, want: 4},
			{run: 2, env: map[string]string{"GITHUB_WORKFLOW": "another"}, want: 2},
			{run: 4, want: 4},
			{run: 3, env: map[string]string{"GITHUB_RUN_ATTEMPT": "2"}, want: 3},
		} {
			outputs, talk, err := r.createPR(t.Context(), c.run, c.env, merge...)
			if err != nil || strings.Contains(outputs, "overtaken=true") != c.overtaken {
				t.Errorf("run %d: %v\n%s%s", c.run, err, talk, outputs)
			}
			if got, want := image(), fmt.Sprintf("image: app:%d\n", c.want); got != want {
				t.Errorf("after run %d there is %q, want %q", c.run, got, want)
			}
		}
	}
}
