package rollout_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	cli "github.com/kalypso-dev/kalypso/internal/cli/rollout"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

const (
	control = "acme/control"
	gitOps  = "acme/gitops"
	object  = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n"
)

// platform is a forge with a rollout of two waves, a fleet of two clusters, and the scheduler's
// configuration that names both.
type platform struct {
	*testing.T
	forge  *githubfake.Server
	config string // file
	// follows is the branch that each cluster follows, at its head.
	follows map[string]string
}

func newPlatform(t *testing.T) *platform {
	p := &platform{T: t, forge: githubfake.Start(t), config: filepath.Join(t.TempDir(), "scheduler.yaml"), follows: map[string]string{"edge-1": "dev", "edge-2": "dev"}}
	spec := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	p.forge.Push(control, "main", map[string]string{"dev.yaml": spec(object, "Environment", "dev", "{controlPlane: {repo: "+p.forge.URL+"/acme/control, branch: dev, path: .}}")})
	p.forge.Push(control, "dev", map[string]string{
		"type.yaml":    spec(object, "ClusterType", "small", "{reconciler: flux, namespaceService: default}"),
		"gitops.yaml":  spec(object, "GitOpsRepo", "dev", "{repo: "+p.forge.URL+"/acme/gitops, branch: dev, path: .}"),
		"rollout.yaml": spec(object, "Rollout", "near", "{clusterType: small, waves: [{name: canary, clusters: 1}, {name: all}]}"),
	})
	p.forge.Push(gitOps, "dev", map[string]string{"small/web/a.yaml": "version: 1\n"})
	token := filepath.Join(t.TempDir(), "token")
	server := httptest.NewServer(endpoint.Handler(p, "t0ken"))
	t.Cleanup(server.Close)
	t.Setenv("KALYPSO_TEST_TOKEN", p.forge.User("scheduler").Token)
	for file, content := range map[string]string{
		token: "t0ken",
		p.config: fmt.Sprintf("forge: {type: github, url: %s, tokenEnv: KALYPSO_TEST_TOKEN}\ncontrolPlane: {repo: %s}\nobserve: [{endpoint: {url: %s, tokenFile: %s}}]\n",
			p.forge.URL, p.forge.CloneURL(control), server.URL, token),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Inventory implements fleet.Reader.
func (p *platform) Inventory(context.Context) (fleet.Snapshot, error) {
	s := fleet.Snapshot{At: time.Now()}
	for _, name := range []string{"edge-1", "edge-2"} {
		head := p.forge.Branch(gitOps, p.follows[name])
		s.Clusters = append(s.Clusters, fleet.Cluster{Name: name, LastSeen: s.At, Subscriptions: []fleet.Subscription{{
			Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: "platform"}, Source: &fleet.Ref{Namespace: "flux-system", Name: "dev"},
			Repo: p.forge.CloneURL(gitOps), Branch: p.follows[name], Path: "./small", Commit: head, Applied: head, State: fleet.Compliant,
		}}})
	}
	return s, nil
}

// Observe implements fleet.Observer.
func (p *platform) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	return fleet.Observe(ctx, p, s)
}

// schedule lets the scheduler do what is due.
func (p *platform) schedule() {
	p.Helper()
	config, err := controller.LoadOnceConfig(p.config)
	if err != nil {
		p.Fatal(err)
	}
	f, err := config.Connect(nil, nil)
	if err != nil {
		p.Fatal(err)
	}
	env, err := model.LoadEnvironment(p.Context(), f, "dev", model.Reference{Repo: p.forge.CloneURL(control), Branch: "dev"})
	if err != nil {
		p.Fatal(err)
	}
	d := driver.New(driver.Options{Forge: f, Fleet: config.Fleet()})
	for range 20 {
		out, err := d.Run(p.Context(), driver.Of(env))
		if err != nil {
			p.Fatal(err)
		}
		if out.Writes == 0 {
			return
		}
	}
	p.Fatal("the scheduler still writes after 20 rounds")
}

// run runs a command below `kalypso rollout`.
func (p *platform) run(args ...string) (string, error) {
	p.Helper()
	var out bytes.Buffer
	c := cli.NewCommand(&cmdutil.App{In: strings.NewReader(""), Out: &out, Err: p.Output()})
	c.SetArgs(append(args, "--config", p.config))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(p.Context())
	return out.String(), err
}

// document is what a command prints as JSON.
func document[T any](p *platform, args ...string) (into T) {
	p.Helper()
	out, err := p.run(append(args, "-o", "json")...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &into)
	}
	if err != nil {
		p.Fatalf("%v: %v\n%s", args, err, out)
	}
	return into
}

func (p *platform) phase(want rollout.Phase) rollout.Status {
	p.Helper()
	p.schedule()
	got := document[struct{ Rollouts []rollout.Status }](p, "status", "-e", "dev")
	if len(got.Rollouts) != 1 || got.Rollouts[0].Phase != want {
		p.Fatalf("want %s: %+v", want, got)
	}
	return got.Rollouts[0]
}

// TestCommands is a rollout as its commands show it, from the first wave to the last.
func TestCommands(t *testing.T) {
	p := newPlatform(t)
	p.schedule()
	assigned := document[driver.Assigned](p, "assign", "near")
	waves := map[string]string{}
	for _, c := range assigned.Clusters {
		if c.Follows != "dev" || c.Branch != rollout.Branch("dev", "small", c.Wave) || len(c.Commands) != 1 || !strings.Contains(c.Commands[0], c.Branch) {
			t.Errorf("%+v", c)
		}
		waves[c.Wave] = c.Cluster
	}
	if waves["canary"] == "" || waves["all"] == "" {
		t.Fatalf("%+v", assigned)
	}
	if out, err := p.run("assign", "small", "-o", "commands"); err != nil || strings.Count(out, "\n") != 2 || !strings.Contains(out, "kubectl --context edge-1 ") {
		t.Errorf("%s: %v", out, err)
	}
	for wave, cluster := range waves {
		p.follows[cluster] = rollout.Branch("dev", "small", wave)
	}
	p.phase(rollout.Complete)
	if out, err := p.run("assign", "near", "-o", "commands"); err != nil || out != "" {
		t.Errorf("all follow their waves: %s: %v", out, err)
	}

	// the first wave holds nothing that is well: so it does not go on by itself
	lost := p.follows[waves["canary"]]
	p.follows[waves["canary"]] = "main"
	commit := p.forge.Push(gitOps, "dev", map[string]string{"small/web/a.yaml": "version: 2\n"})
	if s := p.phase(rollout.Progressing); s.Target != commit || s.Wave != "canary" {
		t.Errorf("%+v", s)
	}
	if out, err := p.run("pause", "near", "-e", "dev", "--reason", "an audit"); err != nil || !strings.HasPrefix(out, "rollout near of environment dev: ") {
		t.Errorf("%s: %v", out, err)
	}
	p.follows[waves["canary"]] = lost
	if s := p.phase(rollout.Paused); !strings.Contains(s.Reason, "an audit") {
		t.Errorf("%+v", s)
	}
	if _, err := p.run("abort", "near"); err != nil {
		t.Error(err)
	}
	if s := p.phase(rollout.Aborted); s.Target != commit {
		t.Errorf("%+v", s)
	}
	if got := p.forge.Files(gitOps, rollout.Branch("dev", "small", "canary"))["small/web/a.yaml"]; got != "version: 1\n" {
		t.Errorf("aborted, the first wave has %q", got)
	}
	if _, err := p.run("resume", "small"); err != nil {
		t.Error(err)
	}
	p.phase(rollout.Complete)
	if got := p.forge.Files(gitOps, rollout.Branch("dev", "small", "all"))["small/web/a.yaml"]; got != "version: 2\n" {
		t.Errorf("resumed, the last wave has %q", got)
	}
	if out, err := p.run("status", "near"); err != nil || !strings.Contains(out, "canary") || !strings.Contains(out, commit[:8]) {
		t.Errorf("%s: %v", out, err)
	}
}

// TestUnknownRollout: what is not there is an error of usage, and changes nothing.
func TestUnknownRollout(t *testing.T) {
	p := newPlatform(t)
	p.schedule()
	for _, args := range [][]string{{"status", "far"}, {"pause", "far"}, {"abort", "near", "-e", "deb"}, {"assign", "far"}, {"pause"}, {"promote", "near", "more"}} {
		var wrong *usage.Error
		if out, err := p.run(args...); !errors.As(err, &wrong) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if log := p.forge.Log(gitOps, rollout.StateBranch("dev", "small"), "%s"); slices.ContainsFunc(log, func(s string) bool { return strings.Contains(s, "pause") }) {
		t.Errorf("%q", log)
	}
}
