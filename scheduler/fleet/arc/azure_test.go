package arc_test

import (
	"context"
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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc/arctest"
	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
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
		who       string
	}{
		"secret":            {login, false, "application " + app},
		"workload identity": {[]string{"AZURE_TENANT_ID", arctest.Tenant, "AZURE_CLIENT_ID", app, "AZURE_FEDERATED_TOKEN_FILE", federated}, false, "application " + app},
		// azidentity keeps tokens of managed identities for the whole process
		"managed identity": {[]string{"AZURE_CLIENT_ID", rand.Text()}, true, "managed identity /subscriptions/x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAzure(t, 3)
			if test.managed {
				s.App(arctest.Managed, "")
				s.Allow(arctest.Managed, arctest.Reader, "/subscriptions/"+east)
			}
			variables(t, test.variables...)
			c := connect(t, s)
			all, err := c.Observe(t.Context(), source)
			if err != nil || len(all) != 3 || !strings.HasPrefix(c.Account(), test.who) {
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
		{"id": "` + east + `", "tenantId": "` + arctest.Tenant + `", "environmentName": "AzureCloud", "isDefault": true}]}`
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
	if err != nil || !strings.Contains(string(asked), "--tenant "+arctest.Tenant) || !strings.Contains(string(asked), "--resource https://management.core.windows.net/") {
		t.Errorf("az was called with %s, %v", asked, err)
	}
	// in another cloud it is another subscription
	gov := connect(t, s, func(set *arc.Settings) { set.Subscription, set.ConfigDir, set.Cloud = "", dir, "AzureGovernment" })
	if gov.Subscription() != west {
		t.Error(gov.Subscription())
	}
	// and without a login there is none
	_, err = arc.Settings{ConfigDir: t.TempDir()}.Connect()
	if !arc.IsSetup(err) || !strings.Contains(err.Error(), "AZURE_SUBSCRIPTION_ID") {
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
	if _, err := arc.ParseCloud("AzureMoon"); !arc.IsSetup(err) || !strings.Contains(err.Error(), "AzureGovernment") {
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

// canary is a credential that must not be asked.
type canary struct{ *testing.T }

func (c canary) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.Error("a token was asked for")
	return azcore.AccessToken{Token: secret, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// TestCredentialsStayWhereTheyBelong: Azure's do not go to an emulation over
// plain http, and those of an emulation not to Azure.
func TestCredentialsStayWhereTheyBelong(t *testing.T) {
	government, err := arc.ParseCloud("AzureGovernment")
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() (*arc.Client, error){
		"Azure's over http to this machine": func() (*arc.Client, error) { return arc.New(canary{t}, east, arc.At("http://127.0.0.1:1")) },
		"Azure's over http":                 func() (*arc.Client, error) { return arc.New(canary{t}, east, arc.At("http://arm.example.com")) },
		"Azure's to another server": func() (*arc.Client, error) {
			return arc.New(canary{t}, east, &arc.Options{Cloud: arc.Endpoint("https://arm.example.com", "https://management.azure.com/", "")})
		},
		"a fixed one to Azure":   func() (*arc.Client, error) { return arc.New(arc.Token("t"), east, nil) },
		"a fixed one to a cloud": func() (*arc.Client, error) { return arc.New(arc.Token("t"), east, &arc.Options{Cloud: government}) },
		"a fixed one to Azure by its URL": func() (*arc.Client, error) {
			return arc.New(arc.Token("t"), east, arc.At("https://management.azure.com:443"))
		},
		"a fixed one to a region of Azure": func() (*arc.Client, error) {
			return arc.New(arc.Token("t"), east, arc.At("https://eastus.management.azure.com/"))
		},
		"a fixed one in the clear":         func() (*arc.Client, error) { return arc.New(arc.Token("t"), east, arc.At("http://arm.example.com")) },
		"a fixed one without its endpoint": func() (*arc.Client, error) { return arc.Settings{Subscription: east, Token: "t"}.Connect() },
		"a fixed one with a cloud": func() (*arc.Client, error) {
			return arc.Settings{Subscription: east, Token: "t", Cloud: "AzureChina"}.Connect()
		},
		"none for the emulation": func() (*arc.Client, error) {
			return arc.Settings{Subscription: east, Endpoint: "http://localhost:1"}.Connect()
		},
		"an endpoint that is none": func() (*arc.Client, error) { return arc.New(arc.Token("t"), east, arc.At("ftp://x")) },
		"an endpoint in another way no URL": func() (*arc.Client, error) {
			return arc.Settings{Subscription: east, Token: "t", Endpoint: "azure"}.Connect()
		},
		"a credential of Azure's, no scheme": func() (*arc.Client, error) { return arc.New(canary{t}, east, arc.At("management.azure.com")) },
	} {
		c, err := try()
		if err == nil {
			t.Errorf("%s: a client of %s", name, c.Cloud().Name)
			continue
		}
		if !arc.IsSetup(err) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", arc.Token(secret), arc.Token(secret), arc.Token(secret)); strings.Contains(text, secret) {
		t.Error("a token can be printed")
	}
}

// TestRefusedLogins tell which credential was tried, and what to do.
func TestRefusedLogins(t *testing.T) {
	for name, test := range map[string]struct {
		variables []string
		says      []string
	}{
		"none": {nil, []string{"EnvironmentCredential: missing environment variable AZURE_TENANT_ID", "ManagedIdentityCredential", "AzureCLICredential", "az login", "AZURE_FEDERATED_TOKEN_FILE"}},
		"wrong secret": {[]string{"AZURE_TENANT_ID", arctest.Tenant, "AZURE_CLIENT_ID", app, "AZURE_CLIENT_SECRET", "wr0ng"},
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
	s.Fail(httpfault.Fault[arctest.Call]{On: func(c arctest.Call) bool { return c.Login }, Times: -1, Answer: httpfault.Page(http.StatusForbidden)})
	_, err := connect(t, s).Observe(t.Context(), source)
	if !arc.IsDenied(err) || !strings.Contains(err.Error(), "AZURE_TOKEN_CREDENTIALS") {
		t.Errorf("%v", err)
	}
}

// TestFleet asks about hundreds of clusters in two subscriptions with a query
// per page, and one request for the subscription that has none of them.
func TestFleet(t *testing.T) {
	s := newAzure(t, 0)
	variables(t, login...)
	s.Allow(app, arctest.Reader, "/subscriptions/"+west)
	for i := range 2400 {
		id := []string{east, west}[i%2]
		cluster := s.Cluster(id, fmt.Sprintf("site-%04d", i/2), "edge") // all have one name
		s.Follow(cluster, "platform", source.Repo, source.Branch)
		s.Report(cluster, "platform", commit, "Compliant")
	}
	s.Pages(1000)
	c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + ", " + west })
	all, err := c.Observe(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, one := range all {
		names[one.ID()] = true
	}
	if v := fleet.Judge(all, commit); len(names) != 2400 || v.Decision != fleet.Arrived || v.Reached != 2400 {
		t.Errorf("%d names, %+v", len(names), v.Decision)
	}
	calls := slices.DeleteFunc(s.Calls(), func(c arctest.Call) bool { return c.Login })
	if len(calls) != 3 {
		t.Errorf("%d requests: %+v", len(calls), calls)
	}
	if all, err = c.Observe(t.Context(), fleet.Source{Repo: source.Repo, Branch: "nobody's"}); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

// TestNobodyIsNotNothing: what the account cannot see is not a fleet without
// clusters, though the graph answers as if it were.
func TestNobodyIsNotNothing(t *testing.T) {
	s := newAzure(t, 2)
	variables(t, login...)
	c := connect(t, s, func(set *arc.Settings) { set.Subscription = east + "," + west })
	_, err := c.Observe(t.Context(), source)
	if !arc.IsNotFound(err) || !strings.Contains(err.Error(), west) || !strings.Contains(err.Error(), "AZURE_TENANT_ID") {
		t.Errorf("%v", err)
	}
}

// TestWaitsAreTold: limits are waited for, and it is said what for.
func TestWaitsAreTold(t *testing.T) {
	s := newAzure(t, 2)
	variables(t, login...)
	s.Quota(1)
	var told []arc.Wait
	c := connect(t, s, func(set *arc.Settings) { set.Waiting = func(w arc.Wait) { told = append(told, w) } })
	var waited []time.Duration
	hasty(c, 10*time.Second, &waited)
	for range 2 {
		if _, err := c.Observe(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	if len(waited) != 1 || waited[0] != time.Second {
		t.Errorf("waited %v for the queries that are used up", waited)
	}
	s.Fail(throttled("7"))
	if _, err := c.Observe(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0].Reason, "throttles the account's Resource Graph queries (TooManyRequests)") || !strings.HasPrefix(told[0].Request, "POST /providers/Microsoft.ResourceGraph") {
		t.Errorf("told %+v", told)
	}
	// a limit that outlasts the caller is an error at once, and nothing more is sent
	s.Fail(throttled("600"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.Calls()
	for range 3 {
		var limit *arc.LimitError
		if _, err := c.Observe(ctx, source); !errors.As(err, &limit) || time.Until(limit.Until) < 9*time.Minute {
			t.Errorf("%v", err)
		}
	}
	if calls := s.Calls(); len(calls) != 1 {
		t.Errorf("%d requests against a limit that was known", len(calls))
	}
}
