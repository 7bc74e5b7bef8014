package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/az"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/arc"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// azStopped is a fleet whose one cluster is away: the emulation shows what its
// memory has of it.
type azStopped struct{}

func (azStopped) Names() []string                        { return []string{"arc-cluster"} }
func (azStopped) Client(string) (*cluster.Client, error) { return nil, arc.ErrStopped }

const azMemory = `{"seen": "2026-01-02T03:04:05Z", "configurations": [{
  "id": "/subscriptions/%s/resourceGroups/kalypso-rg/providers/Microsoft.Kubernetes/connectedClusters/arc-cluster/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/platform-dev",
  "name": "platform-dev", "type": "Microsoft.KubernetesConfiguration/fluxConfigurations",
  "properties": {
    "scope": "cluster", "namespace": "flux-system", "sourceKind": "GitRepository", "suspend": false,
    "gitRepository": {"url": "http://localhost:1/kalypso/kalypso-platform-gitops", "repositoryRef": {"branch": "dev"}},
    "kustomizations": {"platform-dev": {"name": "platform-dev", "path": "dev", "prune": true}},
    "statuses": [
      {"kind": "GitRepository", "name": "platform-dev", "complianceState": "Compliant"},
      {"kind": "Kustomization", "name": "platform-dev-platform-dev", "complianceState": "Non-Compliant"}],
    "sourceSyncedCommitId": "dev@sha1:abc", "sourceUpdatedAt": "2026-01-02T03:04:00Z", "statusUpdatedAt": "2026-01-02T03:04:05Z",
    "complianceState": "Non-Compliant", "provisioningState": "Succeeded", "errorMessage": ""}}]}`

// azSandbox makes a home of a sandbox, with the handler where its emulated Azure
// should be.
func azSandbox(t *testing.T, handler func(subscription, token string) http.Handler) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("KALYPSO_HOME", home)
	var inner http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(map[string]any{
		"id": "1", "workshop": "basic-inference", "webhookSecret": "s", "ports": map[string]int{"arm": port, "gitea": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "sandbox.json"), state, 0o600); err != nil {
		t.Fatal(err)
	}
	_, token, subscription, _, err := sandbox.ArmEndpoint(sandbox.Home(home))
	if err != nil {
		t.Fatal(err)
	}
	inner = handler(subscription, token)
}

func azRemembering(t *testing.T) func(subscription, token string) http.Handler {
	return func(subscription, token string) http.Handler {
		dir := t.TempDir()
		memory := strings.Replace(azMemory, "%s", subscription, 1)
		if err := os.WriteFile(filepath.Join(dir, "arc-cluster.json"), []byte(memory), 0o600); err != nil {
			t.Fatal(err)
		}
		return arc.New(arc.Options{
			Subscription: subscription, ResourceGroup: "kalypso-rg", Location: "eastus", Token: token,
			Clusters: azStopped{}, Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
	}
}

// azCommand runs one line of Azure's and returns what is printed.
func azCommand(t *testing.T, args ...string) (out string, failure error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := az.NewCommand(&cmdutil.App{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	c.SetArgs(args)
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	failure = c.ExecuteContext(t.Context())
	return stdout.String(), failure
}

func TestAzReads(t *testing.T) {
	azSandbox(t, azRemembering(t))
	flux := func(args ...string) []string {
		return append([]string{"k8s-configuration", "flux", args[0], "--cluster-name", "arc-cluster", "--resource-group", "kalypso-rg", "--cluster-type", "connectedClusters"}, args[1:]...)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"flux list as a table": {flux("list", "--output", "table"), `
Namespace    Name          Scope    ProvisioningState    ComplianceState    StatusUpdatedAt            SourceUpdatedAt
-----------  ------------  -------  -------------------  -----------------  -------------------------  -------------------------
flux-system  platform-dev  cluster  Succeeded            Non-Compliant      2026-01-02T03:04:05+00:00  2026-01-02T03:04:00+00:00
`},
		"one value":             {flux("show", "-n", "platform-dev", "--query", "complianceState", "-o", "tsv"), "\nNon-Compliant\n"},
		"one value as JSON":     {flux("show", "-n", "platform-dev", "--query", "complianceState"), "\n\"Non-Compliant\"\n"},
		"nothing":               {flux("show", "-n", "platform-dev", "--query", "missing"), "\n"},
		"no output":             {flux("show", "-n", "platform-dev", "-o", "none"), "\n"},
		"a value that is null":  {flux("show", "-n", "platform-dev", "--query", "[[gitRepository.httpsUser,suspend,statuses]]", "-o", "tsv"), "\nNone\tFalse\t2\n"},
		"the query's own order": {flux("list", "--query", "[].{state: complianceState, name:name}", "-o", "tsv"), "\nNon-Compliant\tplatform-dev\n"},
		"a table of a query": {flux("show", "-n", "platform-dev", "--query", "statuses[].{state:complianceState,kind:kind}", "-o", "table"), `
State          Kind
-------------  -------------
Compliant      GitRepository
Non-Compliant  Kustomization
`},
		"a table of values": {flux("show", "-n", "platform-dev", "--query", "statuses[].kind", "-o", "table"), `
Result
-------------
GitRepository
Kustomization
`},
		"yaml": {flux("show", "-n", "platform-dev", "--query", "gitRepository.repositoryRef", "-o", "yaml"), `
branch: dev
commit: null
semver: null
tag: null
`},
		"clusters": {[]string{"connectedk8s", "list", "--resource-group", "kalypso-rg", "--output", "table"}, `
Name         Location    ResourceGroup
-----------  ----------  ---------------
arc-cluster  eastus      kalypso-rg
`},
		"a cluster": {[]string{"connectedk8s", "show", "-g", "kalypso-rg", "-n", "arc-cluster", "--query", "[connectivityStatus,lastConnectivityTime]", "-o", "tsv"}, "\nOffline\n2026-01-02T03:04:05+00:00\n"},
		"the graph": {[]string{"graph", "query", "-q", "kubernetesconfigurationresources | where properties.sourceSyncedCommitId == 'dev/abc' | project name"}, `
{
  "count": 1,
  "data": [
    {
      "name": "platform-dev"
    }
  ],
  "skip_token": null,
  "total_records": 1
}
`},
		"nothing to do": {[]string{"extension", "add", "--name", "resource-graph"}, "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := azCommand(t, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), out); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The Azure CLI has a configuration's properties beside its name.
func TestAzShowsConfigurationsFlat(t *testing.T) {
	azSandbox(t, azRemembering(t))
	out, err := azCommand(t, "k8s-configuration", "flux", "show", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters", "-n", "platform-dev")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	if m["name"] != "platform-dev" || m["resourceGroup"] != "kalypso-rg" || m["complianceState"] != "Non-Compliant" || m["properties"] != nil {
		t.Errorf("%s", out)
	}
	if _, there := m["gitRepository"].(map[string]any)["httpsCaCert"]; !there {
		t.Errorf("%s", out)
	}
}

func TestAzMistakes(t *testing.T) {
	azSandbox(t, azRemembering(t))
	whole := []string{"k8s-configuration", "flux", "show", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters", "-n", "other"}
	for name, c := range map[string]struct {
		args  []string
		want  string
		usage bool
	}{
		"missing flags":  {whole[:9], "the following arguments are required: --name/-n", true},
		"unknown flag":   {append(whole, "--x"), "unknown flag: --x", true},
		"extra words":    {append(whole, "x"), "unrecognized arguments: [x]", true},
		"unknown output": {append(whole, "-o", "xml"), `there is no output "xml"`, true},
		"wrong query":    {append(whole, "--query", "a[", "-o", "tsv"), "--query", true},
		"cluster type":   {[]string{"k8s-configuration", "flux", "list", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "others"}, `cluster type "others" is not supported`, true},
		"not there":      {whole, "(FluxConfigurationNotFound) The Resource", false},
		"delete unasked": {[]string{"k8s-configuration", "flux", "delete", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters", "-n", "platform-dev"}, "say --yes", true},
		"one credential": {[]string{"k8s-configuration", "flux", "create", "-c", "a", "-g", "g", "-t", "connectedClusters", "-n", "n", "-u", "http://x", "--https-user", "u"}, "cannot be used separately", true},
		"interval":       {[]string{"k8s-configuration", "flux", "create", "-c", "a", "-g", "g", "-t", "connectedClusters", "-n", "n", "-u", "http://x", "--interval", "ten"}, "is no duration", true},
		"offline":        {[]string{"k8s-configuration", "flux", "create", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters", "-n", "n", "-u", "http://x", "--branch", "b", "-k", "name=a"}, "(ClusterOffline)", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := azCommand(t, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			if (cmdutil.ExitCode(err) == cmdutil.ExitUsage) != c.usage {
				t.Errorf("exit code %d", cmdutil.ExitCode(err))
			}
		})
	}
}

func TestAzWithoutASandboxThatRuns(t *testing.T) {
	t.Setenv("KALYPSO_HOME", t.TempDir())
	if _, err := azCommand(t, "connectedk8s", "list"); err == nil {
		t.Error("no sandbox, and yet an answer")
	}
	azSandbox(t, func(string, string) http.Handler { return http.NotFoundHandler() })
	state := filepath.Join(os.Getenv("KALYPSO_HOME"), "sandbox.json")
	if err := os.WriteFile(state, []byte(`{"workshop": "basic-inference", "webhookSecret": "s", "ports": {"arm": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := azCommand(t, "connectedk8s", "list"); err == nil || !strings.Contains(err.Error(), "kalypso up") {
		t.Errorf("%v", err)
	}
}
