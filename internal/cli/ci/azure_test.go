package ci

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/ciforge"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// TestWaitForDeploymentOnAzure is the gate of promotion on a fleet that Azure
// manages.
func TestWaitForDeploymentOnAzure(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	for name, test := range map[string]struct {
		change func(s *armfake.Server, cluster armapi.Cluster)
		args   []string
		code   int
		says   string
	}{
		"arrived":    {nil, nil, cmdutil.ExitOK, "all 1 have commit abababab"},
		"in a cloud": {nil, []string{"--cloud", "AzureChina", "--subscription", azureSubscription}, cmdutil.ExitOK, "all 1 have commit abababab"},
		"late": {func(s *armfake.Server, c armapi.Cluster) {
			s.Report(c, "platform", strings.Repeat("cd", 20), "Compliant")
		}, []string{"--timeout", "300ms"}, cmdutil.ExitTimeout, "drone/platform is Compliant and is on cdcdcdcd"},
		"failed":      {func(s *armfake.Server, c armapi.Cluster) { s.Report(c, "platform", commit, "Non-Compliant") }, []string{"--grace", "1ms"}, cmdutil.ExitFailure, "Non-Compliant"},
		"not visible": {nil, []string{"--subscription", azureSubscription + ",other"}, cmdutil.ExitAuthentication, "(SubscriptionNotFound)"},
		"refused":     {func(s *armfake.Server, _ armapi.Cluster) { s.App(azureApp, "other") }, nil, cmdutil.ExitAuthentication, "AADSTS7000215"},
		"a login page": {func(s *armfake.Server, _ armapi.Cluster) {
			s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return !c.Login }, Answer: httpfault.Page(http.StatusOK)})
		}, nil, cmdutil.ExitOK, "cannot ask: clusters: query of the resource graph: management.azure.com answers with text/html"},
		"a proxy that finds nothing": {func(s *armfake.Server, _ armapi.Cluster) {
			s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return !c.Login }, Answer: httpfault.Page(http.StatusNotFound)})
		}, nil, cmdutil.ExitOK, "with an answer that is not Azure's"},
	} {
		t.Run(name, func(t *testing.T) {
			s, cluster := newAzure(t)
			r := newRunner(t, "kalypso/kalypso-gitops")
			r.forge.Push("kalypso/kalypso-gitops", "dev", map[string]string{"a": "b"})
			s.Follow(cluster, "platform", ciforge.Server+"/kalypso/kalypso-gitops", "dev")
			s.Report(cluster, "platform", commit, "Compliant")
			if test.change != nil {
				test.change(s, cluster)
			}
			r.env["AZURE_SUBSCRIPTION_ID"], r.env["AZURE_TENANT_ID"] = azureSubscription, armfake.Tenant
			r.observer = func(e ci.Environment) (fleet.Observer, error) {
				e.Arc.Transport = s.Transport()
				return e.Observer()
			}
			began := time.Now()
			d := r.step(append([]string{"wait-for-deployment", "--branch", "dev", "--commit", commit, "--poll", "50ms", "--timeout", "30s"}, test.args...)...)
			if d.code != test.code || !strings.Contains(d.talk, test.says) || time.Since(began) > 20*time.Second {
				t.Errorf("exit code %d after %s\n%s", d.code, time.Since(began), d.talk)
			}
			if strings.Contains(d.talk, azureSecret) {
				t.Error("the secret is shown")
			}
		})
	}
}

const (
	azureApp          = "11111111-0000-4000-8000-000000000001"
	azureSecret       = "s3cr3t-of-the-application"
	azureSubscription = "aaaaaaaa-0000-4000-8000-00000000000e"
)

// newAzure is an Azure with one cluster, and the login of an application that
// may do all in its subscription.
func newAzure(t *testing.T) (s *armfake.Server, cluster armapi.Cluster) {
	t.Helper()
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": armfake.Tenant, "AZURE_CLIENT_ID": azureApp, "AZURE_CLIENT_SECRET": azureSecret,
		"AZURE_CONFIG_DIR": t.TempDir(), "AZURE_SUBSCRIPTION_ID": azureSubscription, "KALYPSO_HOME": t.TempDir(),
		"AZURE_AUTHORITY_HOST": "", "AZURE_CLIENT_CERTIFICATE_PATH": "", "AZURE_FEDERATED_TOKEN_FILE": "", "KALYPSO_ARM_CLOUD": "", "AZURE_CLOUD_NAME": "",
	} {
		t.Setenv(name, value)
	}
	s = armfake.Start(t, azureSubscription)
	s.App(azureApp, azureSecret)
	return s, s.Cluster(azureSubscription, "fleet", "drone")
}
