package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Credentials let users and scripts into the forge, into Argo CD, and into
// the emulated Azure.
type Credentials struct {
	URL      string `json:"url"`
	OrgURL   string `json:"orgURL"`
	User     string `json:"user"`
	Password string `json:"password"`
	// PasswordChanged says that the forge does not take the password any more.
	PasswordChanged bool   `json:"passwordChanged,omitempty"`
	Token           string `json:"token"` // "" until the forge has been up once
	// ArgoCD are those of each Argo CD of the workshop.
	ArgoCD []ArgoCDLogin `json:"argocd,omitempty"`
	// Azure is nil in a sandbox that was made without it.
	Azure *AzureLogin `json:"azure,omitempty"`
}

// AzureLogin lets a script into the emulated Azure Resource Manager.
type AzureLogin struct {
	Endpoint      string `json:"endpoint"`
	Subscription  string `json:"subscription"`
	Tenant        string `json:"tenant"`
	ResourceGroup string `json:"resourceGroup"`
	// BearerToken is not called token: the tutorials take the forge's out of
	// this JSON by its name.
	BearerToken string `json:"bearerToken"`
}

// ArgoCDLogin lets a user into a cluster's Argo CD.
type ArgoCDLogin struct {
	Cluster  string `json:"cluster"`
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"` // the first one; the user may have changed it
}

// RenewCredentials looks whether everybody in a sandbox that is up has credentials
// that the others know: the tokens of the sandbox on the forge, the secrets of
// the reconcilers on each cluster, the scheduler, the workflows. It mends what is
// not so, waits until the components that it started again are ready, and returns
// what it has mended, for messages. The error is ErrNoSandbox or ErrDown without a
// sandbox.
func RenewCredentials(ctx context.Context, h Home) ([]string, error) {
	client := daemon.NewClient(h)
	var found stack.RenewedCredentials
	err := client.Do(ctx, daemon.PathCredentials, nil, &found, nil)
	if errors.Is(err, daemon.ErrOlder) {
		return nil, nil // `up` says so
	}
	if err != nil || len(found.Renewed) == 0 {
		return found.Renewed, err
	}
	_, err = awaitReady(ctx, client, selection{})
	return found.Renewed, err
}

// LookAtPassword asks the forge whether it still takes the password of the
// credentials, and notes the answer in them. A forge that does not answer changes
// nothing.
func (c *Credentials) LookAtPassword(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgeLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/api/v1/user", nil)
	if err != nil {
		return
	}
	r.SetBasicAuth(c.User, c.Password)
	response, err := loopback.Client.Do(r)
	if err != nil {
		return
	}
	defer response.Body.Close()
	c.PasswordChanged = response.StatusCode == http.StatusUnauthorized
}

// GetCredentials reads them from the sandbox's home.
func GetCredentials(h Home) (*Credentials, error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(gitea.Server{Dir: h.Path("gitea")}.TokenFile(gitea.AdminToken))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := &Credentials{
		URL: s.ForgeURL(), OrgURL: s.OrgURL(),
		User: s.Admin.User, Password: s.Admin.Password, Token: string(token),
	}
	for _, spec := range s.Clusters() {
		if spec.Reconciler == workshop.ArgoCD && s.ArgoCDPassword != "" {
			c.ArgoCD = append(c.ArgoCD, ArgoCDLogin{
				Cluster: spec.Name, URL: s.LocalURL(state.Listener(spec)), User: gitops.ArgoCDUser, Password: s.ArgoCDPassword,
			})
		}
	}
	url, bearer, subscription, tenant, err := ArmEndpoint(h)
	if errors.Is(err, errNoArm) {
		return c, nil
	}
	c.Azure = &AzureLogin{Endpoint: url, Subscription: subscription, Tenant: tenant, ResourceGroup: ArmResourceGroup, BearerToken: bearer}
	return c, err
}

var errNoArm = errors.New("this sandbox was made without the emulated Azure: make a new one with `kalypso down --delete` and `kalypso up`")

// ArmEndpoint returns where the sandbox's emulated Azure Resource Manager is, and
// what it takes to call it. Whether it runs shows with the first call.
func ArmEndpoint(h Home) (url, token, subscription, tenant string, err error) {
	s, err := h.Load()
	if err != nil {
		return "", "", "", "", err
	}
	if s.Port("arm") == 0 {
		return "", "", "", "", errNoArm
	}
	return "http://" + s.Address("arm"), s.ArmToken(), s.GUID("subscription"), s.GUID("tenant"), nil
}
