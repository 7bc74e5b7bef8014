package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
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
		{[]string{"drone"}, cmdutil.ExitUsage, "write NAME=CONTEXT, such as store=my-cluster"},
		{[]string{"=edge"}, cmdutil.ExitUsage, "write NAME=CONTEXT"},
		{[]string{"drone="}, cmdutil.ExitUsage, "write NAME=CONTEXT"},
		{[]string{"drone=edge", "drone=big"}, cmdutil.ExitUsage, "as edge and as big"},
		{[]string{"dronee=edge"}, cmdutil.ExitUsage, "did you mean drone?\nChoose one of drone, large"},
		{[]string{"drone=edg"}, cmdutil.ExitUsage, "did you mean edge?\nChoose one of big, edge, of " + file},
		{[]string{"drone=edge", "large=edge"}, cmdutil.ExitUsage, "both drone and large"},
		{[]string{"drone=edge"}, cmdutil.ExitPreflight, "http://127.0.0.1:1, of context edge of " + file + ", does not answer"},
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

// What --share cannot mean is said before anything is brought up, and what it can is asked.
func TestShareFlag(t *testing.T) {
	t.Setenv("KALYPSO_HOME", t.TempDir())
	for share, says := range map[string]string{
		"--share=0.0.0.0":   "not one address",
		"--share=elsewhere": "is no address",
		"--share=127.0.0.1": "--yes",
	} {
		if code, _, talk := call(t, "up", share); code != cmdutil.ExitUsage || !strings.Contains(talk, says) {
			t.Errorf("%s: exit code %d, says %q", share, code, talk)
		}
	}
}
