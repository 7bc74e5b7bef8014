package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// completions are what a shell would offer for the last word of a line.
func completions(t *testing.T, line ...string) []string {
	t.Helper()
	code, out, talk := call(t, append([]string{"__complete"}, line...)...)
	if code != cmdutil.ExitOK {
		t.Fatalf("%q: exit code %d: %s", line, code, talk)
	}
	var all []string
	for one := range strings.Lines(out) {
		if one = strings.TrimSpace(one); !strings.HasPrefix(one, ":") {
			name, _, _ := strings.Cut(one, "\t")
			all = append(all, name)
		}
	}
	return all
}

func TestCompletionInASandbox(t *testing.T) {
	d := runningSandbox(t)
	writeFile(t, filepath.Join(d.home, "logs", "daemon.log"), nil)
	writeFile(t, filepath.Join(d.home, "snapshots", "before", "snapshot.json"), []byte("{}"))
	for _, c := range []struct {
		line []string
		want []string // are among what is offered
		not  string
	}{
		{[]string{"restart", ""}, []string{"gitea", "unpack-kube"}, "drone"},
		{[]string{"stop", ""}, []string{"arc-cluster"}, "gitea"},
		{[]string{"start", ""}, []string{"arc-cluster"}, "gitea"},
		{[]string{"logs", ""}, []string{"daemon", "scheduler"}, "unpack-kube"},
		{[]string{"open", ""}, []string{"gitea"}, "before"},
		{[]string{"snapshot", "load", ""}, []string{"before"}, "gitea"},
		{[]string{"snapshot", "delete", ""}, []string{"before"}, "gitea"},
		{[]string{"scenario", "show", ""}, []string{"provide-config"}, "gitea"},
		{[]string{"scenario", "run", "provide-config", ""}, []string{"regional-config"}, "provide-config"},
		{[]string{"scenario", "learn", "p"}, []string{"provide-config"}, "gitea"},
		{[]string{"up", "--workshop", ""}, []string{"basic-inference", "hello-world"}, "gitea"},
		{[]string{"up", "--provider", ""}, []string{"embedded", "kind"}, "gitea"},
		{[]string{"status", "-o", ""}, []string{"json", "text"}, "yaml"},
	} {
		got := completions(t, c.line...)
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q offers %q, and not %s", c.line, got, want)
			}
		}
		if slices.Contains(got, c.not) {
			t.Errorf("%q offers %s", c.line, c.not)
		}
	}
}

func TestCompletionOfAPlatform(t *testing.T) {
	flags := explainFlags(t)
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"-e", ""}, "dev"},
		{[]string{""}, "hello-world-app-functional-test"},
		{[]string{"hello-world-app-functional-test", ""}, "drone"},
	} {
		line := append(append([]string{"explain"}, flags...), c.line...)
		if got := completions(t, line...); !slices.Contains(got, c.want) {
			t.Errorf("%q offers %q, and not %s", c.line, got, c.want)
		}
	}
}

// A shell shows what a command prints: nothing may be in it but names.
func TestCompletionWithoutASandboxIsSilent(t *testing.T) {
	t.Setenv("KALYPSO_HOME", filepath.Join(t.TempDir(), "home"))
	for _, command := range []string{"restart", "stop", "logs", "open", "explain"} {
		if got := completions(t, command, ""); len(got) > 0 {
			t.Errorf("%s offers %q", command, got)
		}
	}
	if _, err := os.Stat(os.Getenv("KALYPSO_HOME")); err == nil {
		t.Error("completion has made a home")
	}
}
