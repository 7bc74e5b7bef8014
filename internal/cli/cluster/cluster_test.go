package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/workshop"
)

// call runs `kalypso cluster` without a sandbox.
func call(t *testing.T, args ...string) error {
	t.Setenv("KALYPSO_HOME", t.TempDir())
	var out bytes.Buffer
	c := NewCommand(&cmdutil.App{Out: &out, Err: io.Discard})
	c.SetArgs(args)
	c.SetContext(context.Background())
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.Execute()
}

func TestMistakes(t *testing.T) {
	good := []string{"--virtual", "--type", "large", "--environment", "dev"}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no seed":        {[]string{"add", "one", "--type", "large", "-e", "dev", "--seed", "1"}, "--virtual"},
		"a node":         {append([]string{"add", "one", "--node", "none"}, good...), "--node"},
		"no such node":   {[]string{"add", "one", "--type", "large", "-e", "dev", "--node", "big"}, "--node"},
		"no type":        {[]string{"add", "one", "--virtual", "-e", "dev"}, "--type"},
		"no environment": {[]string{"add", "one", "--virtual", "--type", "large"}, "--environment"},
		"descending":     {append([]string{"add", "s-{20..10}"}, good...), "s-{20..10}"},
		"widths":         {append([]string{"add", "s-{1..10}"}, good...), "s-{1..10}"},
		"too many":       {append([]string{"add", "s-{00001..20000}"}, good...), "10000"},
		"failing":        {append([]string{"add", "one", "--failing", "5"}, good...), "--failing"},
		"offline":        {append([]string{"add", "one", "--offline", "-0.1"}, good...), "--offline"},
		"no length":      {append([]string{"add", "one", "--offline", "0.1", "--offline-for", "0s"}, good...), "--offline"},
		"delay":          {append([]string{"add", "one", "--delay", "-1s"}, good...), "--delay"},
		"reconciler":     {append([]string{"add", "one", "--reconciler", "helm"}, good...), "--reconciler"},
		"no range":       {[]string{"remove", "s-{1..}"}, "s-{1..}"},
	} {
		t.Run(name, func(t *testing.T) {
			var mistake *usage.Error
			if err := call(t, c.args...); !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	for _, args := range [][]string{{"list"}, {"remove", "one"}, append([]string{"add", "one"}, good...)} {
		if err := call(t, args...); !errors.Is(err, state.ErrNoSandbox) {
			t.Errorf("%q without a sandbox: %v", args, err)
		}
	}
}

func TestVirtualClustersAreOneLine(t *testing.T) {
	var all []sandbox.Cluster
	for i := range 30 {
		c := sandbox.Cluster{Name: fmt.Sprintf("s-%d", i), Type: "large", Kind: workshop.VirtualCluster, Reconciler: workshop.Flux, State: "ready"}
		if i%10 == 0 {
			c.State = "failed"
		}
		all = append(all, c)
	}
	all = append([]sandbox.Cluster{
		{Name: "r-1", Type: "large", Kind: workshop.RealCluster, Reconciler: workshop.Flux, State: "ready"},
		{Name: "r-2", Type: "large", Kind: workshop.RealCluster, Reconciler: workshop.Flux, State: "stopped"},
	}, all...)
	var got []string
	for _, r := range rows(all, false) {
		got = append(got, fmt.Sprint(r.Name, " ", r.last, " ", r.count, " ", r.state()))
	}
	want := []string{"r-1 r-1 1 ready", "r-2 r-2 1 stopped", "s-0 s-29 30 27 ready, 3 failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(rows(all, true)); n != 32 {
		t.Errorf("%d lines for 32 clusters", n)
	}
}

func TestReconcilerOfAType(t *testing.T) {
	clusterType := func(name, reconciler string) (c model.ClusterType) {
		c.Name, c.Spec.Reconciler = name, reconciler
		return c
	}
	template := func(name, text string) (m model.Template) {
		m.Name, m.Spec.Manifests = name, []v1alpha1.Manifest{{Text: text}}
		return m
	}
	env := &model.Environment{
		ClusterTypes: []model.ClusterType{clusterType("large", "argo"), clusterType("drone", "flux")},
		Templates:    []model.Template{template("argo", "apiVersion: argoproj.io/v1alpha1"), template("flux", "apiVersion: source.toolkit.fluxcd.io/v1")},
	}
	known := []sandbox.Cluster{{Name: "other", Type: "drone", Reconciler: workshop.ArgoCD}}
	for _, c := range []struct {
		clusterType string
		known       []sandbox.Cluster
		want        workshop.Reconciler
	}{{"large", nil, workshop.ArgoCD}, {"drone", nil, workshop.Flux}, {"drone", known, workshop.ArgoCD}} {
		if got, err := reconcilerOf(env, c.clusterType, c.known); got != c.want || err != nil {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
	var mistake *usage.Error
	if _, err := reconcilerOf(env, "larg", nil); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "large") {
		t.Errorf("%v", err)
	}
}
