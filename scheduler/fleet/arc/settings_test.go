package arc_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// TestLogins goes through the chain of credentials, each with an Azure that
// gives out the tokens.
func TestLogins(t *testing.T) {
	federated := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(federated, []byte("assertion of "+app), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		variables []string
		managed   bool
		account   string
	}{
		"secret":            {login, false, "application " + app},
		"workload identity": {[]string{"AZURE_TENANT_ID", armfake.Tenant, "AZURE_CLIENT_ID", app, "AZURE_FEDERATED_TOKEN_FILE", federated}, false, "application " + app},
		// azidentity keeps tokens of managed identities for the whole process
		"managed identity": {[]string{"AZURE_CLIENT_ID", rand.Text()}, true, "managed identity /subscriptions/x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAzure(t, 3)
			if test.managed {
				s.App(armfake.Managed, "")
			}
			variables(t, test.variables...)
			c := connect(t, s)
			all, err := c.Observe(t.Context(), source)
			if err != nil || len(all) != 3 || !strings.HasPrefix(c.Account(), test.account) {
				t.Errorf("%d clusters as %s: %v", len(all), c.Account(), err)
			}
		})
	}
}

// TestAzureCLI takes the login, the tenant and the subscription that the Azure
// CLI has.
func TestAzureCLI(t *testing.T) {
	s := newAzure(t, 2)
	dir := t.TempDir()
	answer := fmt.Sprintf(`{"accessToken": %q, "expires_on": %d}`, s.Token(app, "https://management.core.windows.net/"), time.Now().Add(time.Hour).Unix())
	script := "#!/bin/sh\necho \"$@\" >>" + filepath.Join(dir, "asked") + "\necho '" + answer + "'\n"
	profile := "\xef\xbb\xbf" + `{"subscriptions": [
		{"id": "` + west + `", "tenantId": "t2", "environmentName": "AzureUSGovernment", "isDefault": true},
		{"id": "` + east + `", "tenantId": "` + armfake.Tenant + `", "environmentName": "AzureCloud", "isDefault": true}]}`
	for name, content := range map[string]string{"az": script, "azureProfile.json": profile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	variables(t, "PATH", dir+":/usr/bin:/bin")
	c := connect(t, s, func(set *arc.Settings) { set.Subscription, set.ConfigDir = "", dir })
	if all, err := c.Observe(t.Context(), source); err != nil || len(all) != 2 || c.Subscription() != east {
		t.Errorf("%v in %s: %v", all, c.Subscription(), err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || !strings.Contains(string(asked), "--tenant "+armfake.Tenant) || !strings.Contains(string(asked), "--resource https://management.core.windows.net/") {
		t.Errorf("az was called with %s, %v", asked, err)
	}
	// in another cloud it is another subscription
	gov := connect(t, s, func(set *arc.Settings) { set.Subscription, set.ConfigDir, set.Cloud = "", dir, "AzureGovernment" })
	if gov.Subscription() != west {
		t.Error(gov.Subscription())
	}
	// and without a login there is no subscription
	_, err = arc.Settings{ConfigDir: t.TempDir()}.Connect()
	if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "AZURE_SUBSCRIPTION_ID") {
		t.Errorf("%v", err)
	}
}

// TestClouds asks each cloud at its own endpoints, with tokens for it: the server
// refuses those for another one.
func TestClouds(t *testing.T) {
	for name, hosts := range map[string][2]string{
		"":                  {"login.microsoftonline.com", "management.azure.com"},
		"AzurePublic":       {"login.microsoftonline.com", "management.azure.com"},
		"azurecloud":        {"login.microsoftonline.com", "management.azure.com"},
		"AzureGovernment":   {"login.microsoftonline.us", "management.usgovcloudapi.net"},
		"AzureUSGovernment": {"login.microsoftonline.us", "management.usgovcloudapi.net"},
		"AzureChina":        {"login.chinacloudapi.cn", "management.chinacloudapi.cn"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAzure(t, 1)
			variables(t, login...)
			c := connect(t, s, func(set *arc.Settings) { set.Cloud = name })
			if all, err := c.Observe(t.Context(), source); err != nil || len(all) != 1 {
				t.Errorf("%v %v", all, err)
			}
			for _, call := range s.Calls() {
				if want := hosts[map[bool]int{true: 0, false: 1}[call.Login]]; call.Host != want {
					t.Errorf("asked %s for %s", call.Host, call.Path)
				}
			}
		})
	}
	if _, err := arc.ParseCloud("AzureMoon"); !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "AzureGovernment") {
		t.Errorf("%v", err)
	}
}

func TestAnotherResourceManager(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, append(slices.Clone(login), "AZURE_AUTHORITY_HOST", "https://login.stack.example.com/")...)
	c := connect(t, s, func(set *arc.Settings) { set.Cloud = "https://management.stack.example.com/" })
	if all, err := c.Observe(t.Context(), source); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
	for _, call := range s.Calls() {
		if !strings.HasSuffix(call.Host, ".stack.example.com") {
			t.Errorf("asked %s for %s", call.Host, call.Path)
		}
	}
}

// TestCredentialsStayWhereTheyBelong: Azure's do not go to an emulator over
// plain http, and those of an emulator not to Azure.
func TestCredentialsStayWhereTheyBelong(t *testing.T) {
	variables(t, login...)
	for name, s := range map[string]arc.Settings{
		"Azure's over http to this machine": {Cloud: "http://127.0.0.1:1"},
		"Azure's over http":                 {Cloud: "http://arm.example.com"},
		"Azure's to another server":         {Cloud: "https://arm.example.com", Audience: "https://management.azure.com/"},
		"Azure's to no URL":                 {Endpoint: "management.azure.com"},
		"a fixed one to Azure by its URL":   {Token: secret, Endpoint: "https://management.azure.com:443"},
		"a fixed one to a region of Azure":  {Token: secret, Endpoint: "https://eastus.management.azure.com/"},
		"a fixed one to a cloud by its URL": {Token: secret, Endpoint: "https://management.usgovcloudapi.net"},
		"a fixed one in the clear":          {Token: secret, Endpoint: "http://arm.example.com"},
		"a fixed one without its endpoint":  {Token: secret},
		"a fixed one with a cloud":          {Token: secret, Cloud: "AzureChina"},
		"none for the emulator":             {Endpoint: "http://localhost:1"},
		"an endpoint with another scheme":   {Token: secret, Endpoint: "ftp://x"},
		"an endpoint that is no URL":        {Token: secret, Endpoint: "azure"},
	} {
		s.Subscription, s.ConfigDir = east, t.TempDir()
		c, err := s.Connect()
		if err == nil {
			t.Errorf("%s: a client of %s", name, c.Cloud().Name)
			continue
		}
		if !errors.As(err, new(*usage.Error)) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefusedLogins: the error names which credential was tried, and what to do.
func TestRefusedLogins(t *testing.T) {
	for name, test := range map[string]struct {
		variables []string
		says      []string
	}{
		"none": {nil, []string{"EnvironmentCredential: missing environment variable AZURE_TENANT_ID", "ManagedIdentityCredential", "AzureCLICredential", "az login", "AZURE_FEDERATED_TOKEN_FILE"}},
		"wrong secret": {[]string{"AZURE_TENANT_ID", armfake.Tenant, "AZURE_CLIENT_ID", app, "AZURE_CLIENT_SECRET", "wr0ng"},
			[]string{"ClientSecretCredential was refused", "AADSTS7000215", "make a new secret"}},
		"wrong tenant": {[]string{"AZURE_TENANT_ID", "99999999-0000-4000-8000-000000000009", "AZURE_CLIENT_ID", app, "AZURE_CLIENT_SECRET", "wr0ng"},
			[]string{"AADSTS90002", "check AZURE_TENANT_ID and the cloud"}},
	} {
		t.Run(name, func(t *testing.T) {
			variables(t, test.variables...)
			_, err := connect(t, newAzure(t, 1)).Observe(t.Context(), source)
			if !arc.IsDenied(err) {
				t.Errorf("not denied: %v", err)
			}
			for _, says := range test.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %s", err, says)
				}
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "wr0ng") {
				t.Error("the secret is in the error")
			}
		})
	}
}

// TestMachinesOfOtherClouds have something at the address of Azure's managed
// identities, and the chain of credentials ends there.
func TestMachinesOfOtherClouds(t *testing.T) {
	s := newAzure(t, 1)
	variables(t)
	s.Fail(httpfault.Fault[armfake.Call]{On: func(c armfake.Call) bool { return c.Login }, Times: -1, Answer: httpfault.Page(http.StatusForbidden)})
	_, err := connect(t, s).Observe(t.Context(), source)
	if !arc.IsDenied(err) || !strings.Contains(err.Error(), "AZURE_TOKEN_CREDENTIALS") {
		t.Errorf("%v", err)
	}
}
