package arc

import (
	"context"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Token is a credential that is a bearer token itself. It is what emulations
// have; Azure's tokens last an hour, and come from [DefaultCredential].
type Token string

// GetToken returns the token, whatever it is for.
func (t Token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// String keeps the token out of what is printed.
func (t Token) String() string { return "a fixed token" }

// GoString does the same for %#v.
func (t Token) GoString() string { return t.String() }

// DefaultCredential is the chain of azidentity: variables, workload identity,
// managed identity, and the logins of the Azure CLI, azd and Azure PowerShell.
// AZURE_TOKEN_CREDENTIALS names one of them. Tenant may be "": then each of them
// has its own.
func DefaultCredential(where Cloud, tenant string, transport policy.Transporter) (azcore.TokenCredential, error) {
	o := &azidentity.DefaultAzureCredentialOptions{TenantID: tenant}
	// azidentity wants to know the login endpoint only; without one it reads
	// AZURE_AUTHORITY_HOST
	o.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: where.configuration.ActiveDirectoryAuthorityHost}
	o.Transport = transport
	// Azure's list of login endpoints does not have those of private clouds
	o.DisableInstanceDiscovery = where.CLI == ""
	c, err := azidentity.NewDefaultAzureCredential(o)
	if err != nil {
		return nil, &SetupError{Message: "credentials of Azure: " + err.Error()}
	}
	return c, nil
}

// account is a credential that remembers whose the token was, to tell it when
// that one is refused.
type account struct {
	next  azcore.TokenCredential
	cloud Cloud

	mu  sync.Mutex
	who string
}

// GetToken implements azcore.TokenCredential.
func (a *account) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	t, err := a.next.GetToken(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		return t, signInError(err, a.cloud)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.who = owner(t.Token)
	return t, nil
}

// String is who was logged in last, "" when that is not known.
func (a *account) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.who
}

// GoString keeps the credential out of %#v.
func (a *account) GoString() string { return a.String() }

// fixed tells whether the credential is a token of an emulation.
func (a *account) fixed() bool {
	_, is := a.next.(Token)
	return is
}
