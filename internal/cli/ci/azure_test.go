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
		"in a cloud": {nil, []string{"--cloud", "AzureChina", "--subscription", armfake.Subscription}, cmdutil.ExitOK, "all 1 have commit abababab"},
		"late": {func(s *armfake.Server, c armapi.Cluster) {
			s.Report(c, "platform", strings.Repeat("cd", 20), "Compliant")
		}, []string{"--timeout", "300ms"}, cmdutil.ExitTimeout, "drone/platform is Compliant and is on cdcdcdcd"},
		"failed":      {func(s *armfake.Server, c armapi.Cluster) { s.Report(c, "platform", commit, "Non-Compliant") }, []string{"--grace", "1ms"}, cmdutil.ExitFailure, "Non-Compliant"},
		"not visible": {nil, []string{"--subscription", armfake.Subscription + ",other"}, cmdutil.ExitAuthentication, "(SubscriptionNotFound)"},
		"refused":     {func(s *armfake.Server, _ armapi.Cluster) { s.App(armfake.App, "other") }, nil, cmdutil.ExitAuthentication, "AADSTS7000215"},
		"a login page": {func(s *armfake.Server, _ armapi.Cluster) {
			s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return !c.Login }, Answer: httpfault.Page(http.StatusOK)})
		}, nil, cmdutil.ExitOK, "cannot ask: clusters: query of the resource graph: management.azure.com answers with text/html"},
		"a proxy that finds nothing": {func(s *armfake.Server, _ armapi.Cluster) {
			s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return !c.Login }, Answer: httpfault.Page(http.StatusNotFound)})
		}, nil, cmdutil.ExitOK, "with an answer that is not Azure's"},
	} {
		t.Run(name, func(t *testing.T) {
			s, cluster := armfake.StartSignedIn(t)
			r := newRunner(t, "kalypso/kalypso-gitops")
			r.forge.Push("kalypso/kalypso-gitops", "dev", map[string]string{"a": "b"})
			s.Follow(cluster, "platform", ciforge.Server+"/kalypso/kalypso-gitops", "dev")
			s.Report(cluster, "platform", commit, "Compliant")
			if test.change != nil {
				test.change(s, cluster)
			}
			r.env["AZURE_SUBSCRIPTION_ID"], r.env["AZURE_TENANT_ID"] = armfake.Subscription, armfake.Tenant
			r.observer = func(e ci.Environment) (fleet.Observer, error) {
				e.Arc.Transport = s.Transport()
				return e.Observer()
			}
			began := time.Now()
			d := r.step(append([]string{"wait-for-deployment", "--branch", "dev", "--commit", commit, "--poll", "50ms", "--timeout", "30s"}, test.args...)...)
			if d.code != test.code || !strings.Contains(d.talk, test.says) || time.Since(began) > 20*time.Second {
				t.Errorf("exit code %d after %s\n%s", d.code, time.Since(began), d.talk)
			}
			if strings.Contains(d.talk, armfake.Secret) {
				t.Error("the secret is shown")
			}
		})
	}
}
