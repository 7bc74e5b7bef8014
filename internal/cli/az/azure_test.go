package az

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
)

// azure runs one line of Azure's on an Azure.
func azure(t *testing.T, s *armfake.Server, args ...string) (out, talk string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &command{App: &cmdutil.App{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, env: os.Getenv, transport: s.Transport()}
	c := a.command()
	c.SetArgs(args)
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.ExecuteContext(t.Context()); err != nil {
		a.Messagef("kalypso: %v\n  %s", err, cmdutil.Hint(err))
		code = cmdutil.ExitCode(err)
	}
	if strings.Contains(stdout.String()+stderr.String(), armfake.Secret) {
		t.Error("the secret is shown")
	}
	return stdout.String(), stderr.String(), code
}

// TestAzOnAzure is a configuration's life on Azure itself.
func TestAzOnAzure(t *testing.T) {
	s, _ := armfake.StartSignedIn(t)
	on := func(args ...string) []string { return append(args, "--cloud", "AzureGovernment") }
	flux := func(verb string, args ...string) []string {
		return on(append([]string{"k8s-configuration", "flux", verb, "-g", "fleet", "-c", "drone", "-t", "connectedClusters"}, args...)...)
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{on("login"), armfake.Subscription},
		{on("account", "show", "--query", "environmentName", "-o", "tsv"), "AzureUSGovernment\n"},
		{on("connectedk8s", "list", "-o", "table"), "drone   eastus      fleet"},
		{flux("create", "-n", "qa", "-u", "https://github.com/kalypso/kalypso-gitops", "--branch", "qa", "-k", "name=qa", "path=drone", "prune=true", "--query", "gitRepository.url", "-o", "tsv"),
			"https://github.com/kalypso/kalypso-gitops\n"},
		{flux("update", "-n", "qa", "--branch", "prod", "--query", "gitRepository.repositoryRef.branch", "-o", "tsv"), "prod\n"},
		{flux("list", "--query", "[].{name: name, state: complianceState}", "-o", "tsv"), "qa\tPending\n"},
		{on("graph", "query", "-q", "kubernetesconfigurationresources", "--query", "total_records", "-o", "tsv"), "1\n"},
		{flux("delete", "-n", "qa", "--yes"), ""},
		{flux("list", "-o", "tsv"), ""},
	} {
		out, talk, code := azure(t, s, step.args...)
		if code != cmdutil.ExitOK || !strings.Contains(out, step.want) || step.want == "" && out != "" {
			t.Errorf("%v: exit code %d\n%s%s", step.args, code, out, talk)
		}
	}
	for _, call := range s.Calls() {
		if call.Host != "login.microsoftonline.us" && call.Host != "management.usgovcloudapi.net" {
			t.Errorf("asked %s for %s", call.Host, call.Path)
		}
	}
}

func TestAzOnAzureMistakes(t *testing.T) {
	list := []string{"connectedk8s", "list", "--cloud", "AzurePublic"}
	for name, test := range map[string]struct {
		change func(*armfake.Server)
		args   []string
		code   int
		says   []string
	}{
		"unknown cloud":      {nil, []string{"connectedk8s", "list", "--cloud", "AzureMoon"}, cmdutil.ExitUsage, []string{"AzureGovernment"}},
		"no subscription":    {func(*armfake.Server) { t.Setenv("AZURE_SUBSCRIPTION_ID", "") }, list, cmdutil.ExitUsage, []string{"AZURE_SUBSCRIPTION_ID"}},
		"wrong secret":       {func(s *armfake.Server) { s.App(armfake.App, "other") }, list, cmdutil.ExitAuthentication, []string{"AADSTS7000215", "make a new secret"}},
		"other subscription": {nil, append(list, "--subscription", "x"), cmdutil.ExitNotFound, []string{"(SubscriptionNotFound)", "AZURE_TENANT_ID"}},
		"throttled": {func(s *armfake.Server) {
			s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return !c.Login }, Answer: httpfault.Text(http.StatusTooManyRequests, "application/json", `{"error": {"code": "TooManyRequests"}}`, "Retry-After", "3")})
		}, list, cmdutil.ExitOK, []string{"waiting 3s, until", "(TooManyRequests)"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := armfake.StartSignedIn(t)
			if test.change != nil {
				test.change(s)
			}
			_, talk, code := azure(t, s, test.args...)
			if code != test.code {
				t.Errorf("exit code %d\n%s", code, talk)
			}
			for _, says := range test.says {
				if !strings.Contains(talk, says) {
					t.Errorf("it does not say %q:\n%s", says, talk)
				}
			}
		})
	}
	// without --cloud it is the sandbox, whatever the variables of Azure say
	s, _ := armfake.StartSignedIn(t)
	t.Setenv("AZURE_CLOUD_NAME", "AzureCloud")
	if _, _, code := azure(t, s, "connectedk8s", "list"); code == cmdutil.ExitOK || len(s.Calls()) > 0 {
		t.Error("Azure was asked in place of the sandbox")
	}
}
