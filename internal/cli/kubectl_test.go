package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// TestKubectlOfASandboxThatIsDown: kubectl itself is not packed into a test, so
// that coming as far as it is an error, too.
func TestKubectlOfASandboxThatIsDown(t *testing.T) {
	logHome(t)
	home := os.Getenv("KALYPSO_HOME")
	writeFile(t, filepath.Join(home, "kubeconfig"), []byte("{}"))
	for line, asks := range map[string]bool{
		"get ns": true, "--context drone get ns": true, "-n config get pods": true, "version": true,
		"exec web -- sh --help": true, "logs --context=drone web": true,
		"": false, "version --client": false, "help": false, "--help": false, "get --help": false, "completion bash": false,
		"--context drone config view": false, "--context drone": false, "__complete get": false, "--kubeconfig=mine get ns": false,
	} {
		code, out, talk := call(t, append([]string{"kubectl"}, strings.Fields(line)...)...)
		says := "run kubectl: "
		if asks {
			says = "kalypso: the sandbox is down: `kalypso up` brings it back\n"
		}
		if code != cmdutil.ExitFailure || out != "" || !strings.Contains(talk, says) {
			t.Errorf("%s: exit code %d, %q, says %q", line, code, out, talk)
		}
	}
	// clusters of the user's own are not down
	writeFile(t, filepath.Join(home, "sandbox.json"), []byte(strings.Replace(stateFile, "{", `{"existing": {"drone": {}}, `, 1)))
	if _, _, talk := call(t, "kubectl", "get", "ns"); !strings.Contains(talk, "run kubectl: ") {
		t.Errorf("says %q", talk)
	}
}

func TestKubectlOfAClusterThatIsStopped(t *testing.T) {
	d := runningSandbox(t)
	writeFile(t, filepath.Join(d.home, "kubeconfig"), []byte("current-context: arc-cluster"))
	writeFile(t, filepath.Join(d.home, "clusters", "away.json"), []byte(`["arc-cluster"]`))
	for line, stopped := range map[string]bool{
		"get ns": true, "--context arc-cluster get ns": true, "get ns --context=arc-cluster": true, "--context other get ns": false,
	} {
		code, _, talk := call(t, append([]string{"kubectl"}, strings.Fields(line)...)...)
		if got := strings.Contains(talk, "`kalypso start arc-cluster`"); got != stopped || code != cmdutil.ExitFailure {
			t.Errorf("%s: exit code %d, %q", line, code, talk)
		}
	}
}

func TestKubectlOfASandboxThatRuns(t *testing.T) {
	d := runningSandbox(t)
	writeFile(t, filepath.Join(d.home, "kubeconfig"), []byte("{}"))
	if _, _, talk := call(t, "kubectl", "get", "ns"); !strings.Contains(talk, "run kubectl: ") {
		t.Errorf("says %q", talk)
	}
}
