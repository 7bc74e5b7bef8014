package cli

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

// runningHub serves a store with a placement that has failed, and a change, and returns its URL.
// The token of a viewer is in the environment.
func runningHub(t *testing.T) string {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	at := time.Now().Add(-time.Hour)
	for i, state := range []placement.State{placement.OK, placement.Failing} {
		p := store.Placement{Placement: placement.Placement{
			Environment: "dev", Cluster: "drone", ClusterType: "edge", Target: "web-east", State: state, Since: at.Add(time.Duration(i) * time.Minute),
			Actual: placement.Revision{Commit: strings.Repeat("ab", 20), Version: "1.0.0"},
		}}
		if state == placement.Failing {
			p.Reason = "no such\nimage"
		}
		if _, err := s.Apply(t.Context(), store.Round{
			At: time.Now(), Environments: []store.Environment{{Name: "dev"}, {Name: "stage"}}, Clusters: []store.Cluster{{Name: "drone"}, {Name: "large"}},
			Placements: map[string][]store.Placement{"dev": {p}},
			Changes:    []store.Change{{Environment: "dev", Repo: "http://f/o/gitops", Branch: "dev", Kind: "platform", PullRequest: 7, State: "open", Reason: "waits for review", Title: "More labels", Author: "ann", SHA: strings.Repeat("c", 40), Head: strings.Repeat("c", 40), Stages: store.Stages{Opened: at}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	token, err := s.CreateToken(t.Context(), store.Token{Name: "viewer", Role: string(api.Viewer)})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KALYPSO_HUB_TOKEN", token)
	handler, err := api.New(api.Options{Store: s, Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestHistory(t *testing.T) {
	withoutSandbox(t)
	hub := runningHub(t)
	code, out, talk := call(t, "history", "web-east", "--hub", hub)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != cmdutil.ExitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "AT ") || strings.Contains(lines[0], "COMMIT") {
		t.Fatalf("exit code %d: %s%s", code, out, talk)
	}
	for i, want := range []string{"dev           drone     ok → failing   1.0.0     no such image", "dev           drone     ok             1.0.0     -"} {
		if !strings.HasSuffix(lines[i+1], want) {
			t.Errorf("%q, want %q", lines[i+1], want)
		}
	}
	if _, out, _ := call(t, "history", "web-east", "--hub", hub, "-o", "wide"); !strings.Contains(out, strings.Repeat("ab", 20)) {
		t.Errorf("wide: %s", out)
	}
	var all []api.TargetEvent
	if code, out, talk := call(t, "history", "web-east", "--hub", hub, "-e", "dev", "--cluster", "drone", "-o", "json"); code != cmdutil.ExitOK || json.Unmarshal([]byte(out), &all) != nil || len(all) != 2 || all[0].ToState != "failing" {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
	if code, out, talk := call(t, "history", "web-east", "--hub", hub, "--cluster", "large", "-o", "json"); code != cmdutil.ExitOK || strings.TrimSpace(out) != "[]" || talk == "" {
		t.Errorf("nothing was seen: exit code %d: %q, %q", code, out, talk)
	}
	for flag, want := range map[string][]string{"": {"web-east"}, "--cluster": {"drone", "large"}, "-e": {"dev", "stage"}} {
		line := []string{"history", "--hub", hub}
		if flag != "" {
			line = append(line, "web-east", flag)
		}
		if got := completions(t, append(line, "")...); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q offers %q, want %q", flag, got, want)
		}
	}
}

func TestGetChanges(t *testing.T) {
	withoutSandbox(t)
	hub := runningHub(t)
	want := "NAME   ENVIRONMENT   KIND       STATE   REACHED   AGE   AUTHOR   TITLE\n1      dev           platform   open    0/0       60m   ann      More labels\n"
	for _, line := range [][]string{{"changes"}, {"change", "1"}, {"chg", "-e", "dev"}} {
		if code, out, talk := call(t, append([]string{"get", "--hub", hub}, line...)...); code != cmdutil.ExitOK || out != want {
			t.Errorf("%q: exit code %d: %s%s", line, code, out, talk)
		}
	}
	if _, out, _ := call(t, "get", "changes", "--hub", hub, "-o", "wide"); !strings.Contains(out, "waits for review") {
		t.Errorf("wide: %s", out)
	}
	var all []api.Change
	if code, out, talk := call(t, "get", "changes", "--hub", hub, "-o", "json"); code != cmdutil.ExitOK || json.Unmarshal([]byte(out), &all) != nil || len(all) != 1 || all[0].PullRequest != 7 {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
	if code, out, talk := call(t, "get", "changes", "--hub", hub, "-e", "stage"); code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "no changes") {
		t.Errorf("exit code %d: %s%s", code, out, talk)
	}
}

// TestHubThatCannotBeAsked: the error says what to do, and its exit code what it is.
func TestHubThatCannotBeAsked(t *testing.T) {
	withoutSandbox(t)
	hub := runningHub(t)
	for _, c := range []struct {
		line []string
		code int
		says string
	}{
		{[]string{"history", "web-east"}, cmdutil.ExitFailure, "--hub URL"},
		{[]string{"get", "changes"}, cmdutil.ExitFailure, "--hub URL"},
		{[]string{"history"}, cmdutil.ExitUsage, "usage: kalypso history TARGET"},
		{[]string{"history", "web-east", "--hub", "ftp://x"}, cmdutil.ExitUsage, "--hub"},
		{[]string{"history", "web-east", "--hub", "http://127.0.0.1:1"}, cmdutil.ExitFailure, "http://127.0.0.1:1"},
		{[]string{"history", "web-esat", "--hub", hub}, cmdutil.ExitFailure, "web-east"},
		{[]string{"history", "web-east", "--hub", hub, "-e", "sage"}, cmdutil.ExitFailure, "stage"},
		{[]string{"get", "changes", "99", "--hub", hub}, cmdutil.ExitFailure, "99"},
		{[]string{"get", "changes", "x", "--hub", hub}, cmdutil.ExitUsage, "number"},
		{[]string{"get", "changes", "--control-plane", "."}, cmdutil.ExitUsage, "--hub"},
	} {
		if code, out, talk := call(t, c.line...); code != c.code || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d: %q, %q", c.line, code, out, talk)
		}
	}
	for token, says := range map[string]string{"": "KALYPSO_HUB_TOKEN", "kht_none": "not valid"} {
		t.Setenv("KALYPSO_HUB_TOKEN", token)
		if code, out, talk := call(t, "get", "changes", "--hub", hub); code != cmdutil.ExitAuthentication || out != "" || !strings.Contains(talk, says) {
			t.Errorf("token %q: exit code %d: %q, %q", token, code, out, talk)
		}
	}
}
