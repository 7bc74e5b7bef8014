package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"
)

const testVersion = "devel"

// call runs kalypso in an empty home.
func call(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	if os.Getenv("KALYPSO_HOME") == "" || !strings.HasPrefix(os.Getenv("KALYPSO_HOME"), os.TempDir()) {
		t.Setenv("KALYPSO_HOME", filepath.Join(t.TempDir(), "home"))
	}
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), testVersion, args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestMistakesAreSaidOnceWithTheirExitCode(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"up", "--nope"}, cmdutil.ExitUsage, "unknown flag: --nope"},
		{[]string{"up", "now"}, cmdutil.ExitUsage, "usage: kalypso up"},
		{[]string{"up", "--workshop", "nope"}, cmdutil.ExitUsage, "basic-inference"},
		{[]string{"frobnicate"}, cmdutil.ExitUsage, `unknown command "frobnicate"`},
		{[]string{"statsu"}, cmdutil.ExitUsage, `unknown command "statsu" for "kalypso", did you mean status?`},
		{[]string{"scenario", "lst"}, cmdutil.ExitUsage, "did you mean list?"},
		{[]string{"scenario", "show", "deploy-ap"}, cmdutil.ExitUsage, "did you mean deploy-app?"},
		{[]string{"down", "--snapshots"}, cmdutil.ExitUsage, "--delete"},
		{[]string{"help", "nope"}, cmdutil.ExitUsage, "kalypso has no command or topic \"nope\"\nSee `kalypso --help`."},
		{[]string{"help", "exit-code"}, cmdutil.ExitUsage, "no command or topic \"exit-code\", did you mean exit-codes?"},
		{[]string{"help", "scenario", "lst"}, cmdutil.ExitUsage, "kalypso scenario has no command or topic \"lst\", did you mean list?"},
		{[]string{"logs", "gitea", "--lines", "x"}, cmdutil.ExitUsage, `kalypso: --lines "x": give a whole number` + "\nSee"},
		{[]string{"logs", "gitea", "--since", "x"}, cmdutil.ExitUsage, `kalypso: --since "x": give a time with its unit, such as 30s, 10m or 1h30m` + "\nSee"},
		{[]string{"logs", "gitea", "--follow=x"}, cmdutil.ExitUsage, `kalypso: --follow "x": give true or false` + "\nSee"},
		{[]string{"status"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"status", "-o", "xml"}, cmdutil.ExitUsage, "choose text or json"},
		{[]string{"credentials"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"kubectl", "get", "ns"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"kubeconfig"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"logs", "gitea"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"logs"}, cmdutil.ExitUsage, "usage: kalypso logs COMPONENT"},
		{[]string{"scheduler", "run"}, cmdutil.ExitUsage, "which control plane? Give --control-plane URL or --config FILE"},
		{[]string{"scheduler", "run", "--config", "/none"}, cmdutil.ExitFailure, "/none"},
		{[]string{"hub", "run"}, cmdutil.ExitUsage, "which hub? Give --config FILE"},
		{[]string{"hub", "run", "--config", "/none"}, cmdutil.ExitFailure, "/none"},
		{[]string{"hub", "token", "list"}, cmdutil.ExitFailure, "run `kalypso up`"},
		{[]string{"hub", "token", "create", "x", "--expires", "never"}, cmdutil.ExitUsage, "--expires \"never\""},
		{[]string{"hub", "token", "create", "x", "--role", "king"}, cmdutil.ExitUsage, "--role \"king\": choose viewer or proposer or operator"},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, code, c.code)
		}
		if out != "" {
			t.Errorf("%v: an error on stdout: %q", c.args, out)
		}
		if strings.Count(talk, c.says) != 1 {
			t.Errorf("%v says %q, want once %q", c.args, talk, c.says)
		}
	}
}

// TestHomeThatCannotBeOne: what KALYPSO_HOME says is the caller's to mend.
func TestHomeThatCannotBeOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for home, says := range map[string]string{
		file:                               "KALYPSO_HOME " + file + ": " + file + " is a file: name a folder",
		file + "/below/it":                 "KALYPSO_HOME " + file + "/below/it: " + file + " is a file: name a folder",
		"/tmp/" + strings.Repeat("x", 200): "is too long",
	} {
		t.Setenv("KALYPSO_HOME", home)
		for _, command := range []string{"up", "status"} {
			if code, _, talk := call(t, command); code != cmdutil.ExitUsage || strings.Count(talk, says) != 1 {
				t.Errorf("%s in %s: exit code %d, says %q, want once %q", command, home, code, talk, says)
			}
		}
	}
}

// TestHelpOfWhatThereIs asks for commands and topics as cobra has them.
func TestHelpOfWhatThereIs(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "logs"}, {"help", "scenario", "list"}, {"help", "exit-codes"}, {"help", "kubectl", "get"}} {
		if code, out, talk := call(t, args...); code != cmdutil.ExitOK || out == "" || talk != "" {
			t.Errorf("%v: exit code %d, %q, says %q", args, code, out, talk)
		}
	}
}

func TestDownWithoutSandbox(t *testing.T) {
	code, _, talk := call(t, "down", "--delete")
	if code != cmdutil.ExitOK || !strings.Contains(talk, "Nothing to do") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}

func TestVersionAsJSON(t *testing.T) {
	code, out, _ := call(t, "version", "-o", "json")
	var v struct{ Kalypso, Platform string }
	if err := json.Unmarshal([]byte(out), &v); code != cmdutil.ExitOK || err != nil || v.Kalypso != testVersion {
		t.Errorf("exit code %d, %q: %v", code, out, err)
	}
}

// TestWithoutPayload is about a kalypso built by plain `go build`, as this
// test is.
func TestWithoutPayload(t *testing.T) {
	code, _, talk := call(t, "up")
	if code != cmdutil.ExitPreflight || !strings.Contains(talk, "make build") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	if code, out, _ := call(t, "version"); code != cmdutil.ExitOK || !strings.HasPrefix(out, "kalypso") {
		t.Errorf("version: exit code %d, %q", code, out)
	}
}

func TestHelpNamesEveryCommand(t *testing.T) {
	code, out, _ := call(t, "--help")
	if code != cmdutil.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, name := range []string{"up", "down", "status", "credentials", "kubectl", "kubeconfig", "logs", "scenario",
		"scheduler", "hub", "plan", "get", "explain", "validate", "version", "licenses"} {
		if !strings.Contains(out, "  "+name+" ") {
			t.Errorf("help does not name %s", name)
		}
	}
	if !strings.Contains(out, "kalypso exit-codes ") {
		t.Error("help does not name the topic exit-codes")
	}
	if strings.Contains(out, "daemon ") {
		t.Error("help names the daemon, which nobody calls")
	}
}

// TestExamples proves that the examples in help texts can be called as printed.
func TestExamples(t *testing.T) {
	with := map[string]int{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			words, err := shellwords.Parse(line) // as far as a redirection
			if err != nil {
				t.Errorf("%s has the example %q: %v", c.CommandPath(), line, err)
			}
			if len(words) == 0 || words[0] != "kalypso" {
				t.Errorf("%s has the example %q", c.CommandPath(), line)
				continue
			}
			root := newRoot(&cmdutil.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
			found, args, err := root.Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil || found.CommandPath() != c.CommandPath() {
				t.Errorf("%s: calls %s: %v", strings.TrimSpace(line), found.CommandPath(), err)
			}
			with[c.Name()]++
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(newRoot(&cmdutil.App{}))
	for _, name := range []string{"plan", "get", "explain", "validate"} {
		if with[name] < 3 {
			t.Errorf("%s has %d examples", name, with[name])
		}
	}
}
