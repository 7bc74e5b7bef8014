package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestClusterFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}],
contexts: [{name: edge, context: {cluster: c}}, {name: big, context: {cluster: c}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"drone"}, exitUsage, "write NAME=CONTEXT, such as drone=my-cluster"},
		{[]string{"=edge"}, exitUsage, "write NAME=CONTEXT"},
		{[]string{"drone="}, exitUsage, "write NAME=CONTEXT"},
		{[]string{"drone=edge", "drone=big"}, exitUsage, "drone is given twice, as edge and as big"},
		{[]string{"dronee=edge"}, exitUsage, "did you mean drone?\nChoose one of drone, large"},
		{[]string{"drone=edg"}, exitUsage, "did you mean edge?\nChoose one of big, edge, of " + file},
		{[]string{"drone=edge", "large=edge"}, exitUsage, "the context edge cannot be both drone and large"},
		{[]string{"drone=edge"}, exitPreflight, "http://127.0.0.1:1, of context edge of " + file + ", does not answer"},
	} {
		args := []string{"up"}
		for _, a := range c.args {
			args = append(args, "--cluster", a)
		}
		code, _, talk := call(t, args...)
		if code != c.code || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d, says %q", c.args, code, talk)
		}
	}
}

func TestGivenClustersAreToldOf(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &sandbox.Status{
		Running: true, Home: "/h", Workshop: "w", Since: now, Existing: []sandbox.ExistingCluster{
			{Name: "drone", Context: "edge", Files: []string{"/a", "/b"}, Pods: "its nodes cannot pull"},
			{Name: "large", Context: "big", Files: []string{"/a"}, Theirs: "argocd", Pods: "its nodes cannot pull"},
		},
		Components: []sandbox.Component{
			{Status: supervisor.Status{Name: "flux-drone", State: supervisor.Ready, Since: now}},
			{Status: supervisor.Status{Name: "argocd-large", State: supervisor.Ready, Since: now}},
		},
	}
	var b bytes.Buffer
	if err := printStatus(&b, style{}, s, now); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"\nCluster drone is yours: context edge of /a and /b; Flux runs beside it, on this machine.\n  Pods of the sample applications do not start there: its nodes cannot pull.\n",
		"\nCluster large is yours: context big of /a; its own Argo CD in namespace argocd follows git.\n",
	} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("does not say %q:\n%s", says, b.String())
		}
	}
	if got := simulatedClusters(s); got["drone"] != "its nodes cannot pull" || got["large"] == "" {
		t.Errorf("for scenarios: %v", got)
	}
}
