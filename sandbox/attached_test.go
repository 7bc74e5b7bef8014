package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// userClusters is a kubeconfig with two contexts of one server.
func userClusters(t *testing.T, server string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: t}}],
contexts: [{name: edge, context: {cluster: c, user: u}}, {name: big, context: {cluster: c, user: u}}]}`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// withAttached makes the state of a sandbox with attached clusters.
func withAttached(t *testing.T, h Home, workshop, file string, contexts map[string]string) *state.State {
	t.Helper()
	s, err := h.Ensure(t.Context(), Choice{Workshop: workshop, Contexts: contexts, Kubeconfig: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPreflightLooksAtGivenClusters(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	file := userClusters(t, "http://127.0.0.1:1")
	o := &Options{Home: h, Choice: Choice{Contexts: map[string]string{"drone": "edge"}, Kubeconfig: []string{file}}}
	err := preflight(t.Context(), o)
	var refused *PreflightError
	if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Findings, func(f doctor.Finding) bool {
		return f.Check == "cluster drone" && strings.Contains(f.Found, "does not answer") && strings.Contains(f.Fix, "kubectl --context edge version")
	}) {
		t.Error(err)
	}
	if h.Exists() {
		t.Error("looking has made the sandbox")
	}
	// one that is stopped is not needed
	s := withAttached(t, h, "hello-world", file, map[string]string{"drone": "edge", "large": "big"})
	if _, err := h.SetStopped("drone", true); err != nil {
		t.Fatal(err)
	}
	r := &doctor.Report{}
	checkAttached(t.Context(), h, s, r)
	if len(r.Findings) != 1 || r.Findings[0].Check != "cluster large" || r.Severity != doctor.Fatal {
		t.Errorf("%+v", r)
	}
}

func TestFindingsOfProblems(t *testing.T) {
	one, two := &attached.Problem{Found: "a", Lost: "b", Fix: "c"}, &attached.Problem{Found: "d"}
	all := findingsOf("cluster x", errors.Join(one, errors.Join(two, errors.New("e"))))
	if len(all) != 3 || all[0].Fix != "c" || all[1].Found != "d" || all[2].Found != "e" || all[2].Fix == "" {
		t.Errorf("%+v", all)
	}
}
