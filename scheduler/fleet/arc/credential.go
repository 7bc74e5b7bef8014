package arc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// fixedToken is a credential that is a bearer token itself, as emulators have;
// Azure's tokens last an hour, and come from defaultCredential.
type fixedToken string

// GetToken returns the token, whatever the scope.
func (t fixedToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// String keeps the token out of what is printed.
func (t fixedToken) String() string { return "a fixed token" }

// GoString does the same for %#v.
func (t fixedToken) GoString() string { return t.String() }

// defaultCredential is the chain of azidentity: variables, workload identity,
// managed identity, and the logins of the Azure CLI, azd and Azure PowerShell.
// AZURE_TOKEN_CREDENTIALS names one of them. Tenant may be "": then each of them
// has its own.
func defaultCredential(where Cloud, tenant string, transport policy.Transporter) (azcore.TokenCredential, error) {
	o := &azidentity.DefaultAzureCredentialOptions{TenantID: tenant}
	// azidentity needs the login endpoint only; without one it reads
	// AZURE_AUTHORITY_HOST
	o.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: where.configuration.ActiveDirectoryAuthorityHost}
	o.Transport = transport
	// Azure's list of login endpoints does not have those of private clouds
	o.DisableInstanceDiscovery = where.CLI == ""
	c, err := azidentity.NewDefaultAzureCredential(o)
	if err != nil {
		return nil, usage.New("credentials of Azure: " + err.Error())
	}
	return c, nil
}

// account is a credential that keeps whose the last token was, for errors about
// it.
type account struct {
	next  azcore.TokenCredential
	cloud Cloud

	mu    sync.Mutex
	owner string
}

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
	a.owner = ownerOf(t.Token)
	return t, nil
}

// String is the account that was used last, "" when that is not known.
func (a *account) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.owner
}

// GoString keeps the credential out of %#v.
func (a *account) GoString() string { return a.String() }

// fixed is whether the credential is the token of an emulator.
func (a *account) fixed() bool {
	_, is := a.next.(fixedToken)
	return is
}

// azureCLI is the application that logins of the Azure CLI belong to.
const azureCLI = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"

// ownerOf describes whose an access token is. Its claims are not secret, and only
// shown, so that their signature is not checked. It is "" for a token without
// such claims.
func ownerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Tenant   string `json:"tid"`
		App      string `json:"appid"`
		User     string `json:"upn"`
		Other    string `json:"unique_name"`
		Identity string `json:"xms_mirid"`
	}
	if json.Unmarshal(b, &claims) != nil || claims.Tenant == "" {
		return ""
	}
	if claims.User == "" {
		claims.User = claims.Other
	}
	text := "application " + claims.App
	switch {
	case claims.Identity != "":
		text = "managed identity " + claims.Identity
	case claims.User != "" && claims.App == azureCLI:
		text = claims.User + ", logged in with the Azure CLI"
	case claims.User != "":
		text = claims.User
	}
	return text + " (tenant " + claims.Tenant + ")"
}
