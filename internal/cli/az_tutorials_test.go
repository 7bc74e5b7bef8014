package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/mattn/go-shellwords"
	"k8s.io/client-go/tools/clientcmd"
)

// azFleet is one whose writes succeed: what the emulation would do, were its
// cluster not away, counts as done.
type azFleet struct {
	emulation http.Handler
	made      map[string]bool // by path
	writes    []string
}

func (f *azFleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	f.emulation.ServeHTTP(answer, r)
	if strings.Contains(answer.Body.String(), "ClusterOffline") {
		f.made[r.URL.Path] = r.Method == http.MethodPut
		f.writes = append(f.writes, r.Method+" "+path.Base(r.URL.Path))
	}
	w.Header().Set("Content-Type", "application/json")
	switch made, known := f.made[r.URL.Path]; {
	case made:
		_, _ = w.Write([]byte(`{"properties": {"provisioningState": "Succeeded"}}`))
	case known && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}
}

func newAzFleet(t *testing.T) *azFleet {
	f := &azFleet{made: map[string]bool{}}
	azSandbox(t, func(subscription, token string) http.Handler {
		f.emulation = azRemembering(t)(subscription, token)
		return f
	})
	return f
}

// azTutorials are the tutorials' lines, as a shell splits them after the
// tutorials' variables are set.
func azTutorials(t *testing.T) (lines []string, words [][]string) {
	t.Helper()
	b, err := os.ReadFile("testdata/tutorials-az.sh")
	if err != nil {
		t.Fatal(err)
	}
	shell := shellwords.NewParser()
	shell.ParseEnv = true
	for line := range strings.Lines(lineGoesOn.ReplaceAllString(string(b), " ")) {
		if !strings.HasPrefix(line, "az ") {
			continue
		}
		split, err := shell.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines, words = append(lines, strings.TrimSpace(line)), append(words, split[1:])
	}
	if len(lines) != 12 {
		t.Fatalf("%d lines", len(lines))
	}
	return lines, words
}

// TestAzTutorials runs the tutorials' lines, with the names of the sandbox in
// place of those that the reader is to replace.
func TestAzTutorials(t *testing.T) {
	for name, value := range map[string]string{"CLUSTER_NAME": "arc-cluster", "RESOURCE_GROUP": "kalypso-rg", "GITHUB_ORG": "kalypso", "TOKEN": "t0ken"} {
		t.Setenv(name, value)
	}
	own := strings.NewReplacer("cluster-east", "arc-cluster", "cluster-west", "arc-cluster", "your-arc-cluster", "arc-cluster",
		"your-rg", "kalypso-rg", "your-resource-group", "kalypso-rg", "rg-kalypso-control", "kalypso-rg")
	fleet := newAzFleet(t)
	writeFile(t, filepath.Join(os.Getenv("KALYPSO_HOME"), "kubeconfig"), []byte(azKubeconfig))
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "config"))
	lines, words := azTutorials(t)
	for i, line := range lines {
		var args []string
		for _, word := range words[i] {
			args = append(args, own.Replace(word))
		}
		code, _, talk := call(t, append([]string{"az"}, args...)...)
		// it says that a cluster is gone, and succeeds in that as it does on Azure
		gone := strings.HasPrefix(line, "az aks show") && code == cmdutil.ExitNotFound && strings.Contains(talk, "(ResourceNotFound)")
		if code != cmdutil.ExitOK && !gone {
			t.Errorf("%s: exit code %d\n%s", line, code, talk)
		}
	}
	if diff := cmp.Diff([]string{"PUT platform-qa", "DELETE platform-dev", "DELETE platform-qa"}, fleet.writes); diff != "" {
		t.Error(diff)
	}
}

// TestAzTutorialsAsPrinted runs them with the tutorials' own names: what there
// is none of is an error about just that.
func TestAzTutorialsAsPrinted(t *testing.T) {
	for _, name := range []string{"CLUSTER_NAME", "RESOURCE_GROUP", "GITHUB_ORG", "TOKEN"} {
		t.Setenv(name, "other")
	}
	newAzFleet(t)
	lines, words := azTutorials(t)
	for i, line := range lines {
		code, _, talk := call(t, append([]string{"az"}, words[i]...)...)
		named := strings.Contains(talk, "kalypso-rg") // the one that there is
		switch {
		case line == "az login", line == "az connectedk8s list --output table":
			if code != cmdutil.ExitOK {
				t.Errorf("%s: exit code %d\n%s", line, code, talk)
			}
		case code != cmdutil.ExitNotFound || !named:
			t.Errorf("%s: exit code %d\n%s", line, code, talk)
		}
	}
}

func TestAzUnknownCommands(t *testing.T) {
	for line, says := range map[string]string{
		"az vm list --name x":                             `unknown command "vm" for "kalypso az"`,
		"az connectedk8s delete --name x -g y":            "connect, list, proxy, show",
		"az connectedk8s shw --name x":                    "did you mean show?",
		"az k8s-configuration flux pause --name x --help": "create, delete, list, show, update",
		"az k8s-configuration --name x flux":              "unknown flag: --name",
	} {
		code, out, talk := call(t, strings.Fields(line)...)
		if code != cmdutil.ExitUsage || out != "" || !strings.Contains(talk, says) || strings.HasPrefix(line, "az c") && strings.Contains(talk, "unknown flag") {
			t.Errorf("%s: exit code %d, %q\n%s", line, code, out, talk)
		}
	}
	for _, line := range []string{"az", "az --help", "az connectedk8s", "az connectedk8s -h", "help az connectedk8s"} {
		if code, out, talk := call(t, strings.Fields(line)...); code != cmdutil.ExitOK || !strings.Contains(out, "Available Commands") {
			t.Errorf("%s: exit code %d, %q\n%s", line, code, out, talk)
		}
	}
}

func TestAzConnect(t *testing.T) {
	azSandbox(t, azRemembering(t))
	show, err := azCommand(t, "connectedk8s", "show", "-g", "kalypso-rg", "-n", "arc-cluster")
	if err != nil {
		t.Fatal(err)
	}
	code, out, talk := call(t, "az", "connectedk8s", "connect", "-g", "kalypso-rg", "-n", "arc-cluster")
	if code != cmdutil.ExitOK || out != show || !strings.Contains(talk, "arc-cluster is connected already") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	for _, args := range [][]string{{"-g", "kalypso-rg", "-n", "other"}, {"-g", "other", "-n", "arc-cluster"}} {
		code, out, talk := call(t, append([]string{"az", "connectedk8s", "connect"}, args...)...)
		if code != cmdutil.ExitNotFound || out != "" || !strings.Contains(talk, "arc-cluster") || !strings.Contains(talk, "kalypso-rg") {
			t.Errorf("exit code %d, %q, %q", code, out, talk)
		}
	}
}

// azKubeconfig leads to the one cluster of the sandbox.
const azKubeconfig = `{"current-context": "arc-cluster", "contexts": [{"name": "arc-cluster", "context": {"cluster": "arc-cluster", "user": "arc-cluster"}}],
	"clusters": [{"name": "arc-cluster", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "arc-cluster", "user": {}}]}`

func TestAzProxy(t *testing.T) {
	azSandbox(t, azRemembering(t))
	ours := filepath.Join(os.Getenv("KALYPSO_HOME"), "kubeconfig")
	entries := []byte(azKubeconfig)
	writeFile(t, ours, entries)
	yours := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", yours)
	line := []string{"az", "connectedk8s", "proxy", "--name", "arc-cluster", "--resource-group", "kalypso-rg"}
	for range 2 {
		code, out, talk := call(t, line...)
		if code != cmdutil.ExitOK || out != "" {
			t.Fatalf("exit code %d, %q, %q", code, out, talk)
		}
		if got, err := clientcmd.LoadFromFile(yours); err != nil || got.CurrentContext != "arc-cluster" || got.Clusters["arc-cluster"].Server != "https://127.0.0.1:1" {
			t.Errorf("the kubeconfig is %+v, %v", got, err)
		}
	}
	t.Setenv("KUBECONFIG", ours)
	code, _, talk := call(t, line...)
	if now, err := os.ReadFile(ours); code != cmdutil.ExitOK || err != nil || !bytes.Equal(now, entries) {
		t.Errorf("the sandbox's own: exit code %d, %q, %q", code, talk, now)
	}
	code, _, talk = call(t, "az", "connectedk8s", "proxy", "--name", "other", "--resource-group", "kalypso-rg")
	if code != cmdutil.ExitNotFound || !strings.Contains(talk, "The sandbox has the clusters 'arc-cluster'") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

func TestAzCreateChecksFirst(t *testing.T) {
	azSandbox(t, azRemembering(t))
	for _, wrong := range [][]string{{"-n", "Platform_QA", "--branch", "b"}, {"-n", "qa"}, {"-n", "qa", "--branch", "b", "--namespace", "A b"}} {
		line := append([]string{"az", "k8s-configuration", "flux", "create", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters", "-u", "http://x", "-k", "name=a"}, wrong...)
		code, out, talk := call(t, line...)
		if code != cmdutil.ExitUsage || out != "" || strings.Contains(talk, "Creating") {
			t.Errorf("%v: exit code %d, %q, %q", wrong, code, out, talk)
		}
	}
}

// The tutorials' table, and what scripts read.
func TestAzResourceList(t *testing.T) {
	azSandbox(t, azRemembering(t))
	for args, want := range map[string]string{
		"-g kalypso-rg -o table": `
Name         ResourceGroup    Location    Type                                    Status
-----------  ---------------  ----------  --------------------------------------  --------
arc-cluster  kalypso-rg       eastus      Microsoft.Kubernetes/connectedClusters
`,
		"--query [].[name,type,kind] -o tsv": "\narc-cluster\tMicrosoft.Kubernetes/connectedClusters\tNone\n",
		"-g KALYPSO-RG --query length(@)":    "\n1\n",
	} {
		code, out, talk := call(t, append([]string{"az", "resource", "list"}, strings.Fields(args)...)...)
		if got := bytes.TrimSpace([]byte(out)); code != cmdutil.ExitOK || string(got) != strings.TrimSpace(want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, talk)
		}
	}
}
