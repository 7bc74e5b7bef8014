package cli

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
)

// TestCredentialsOpenTheEmulatedAzure asks it by hand, with what is shown.
func TestCredentialsOpenTheEmulatedAzure(t *testing.T) {
	azSandbox(t, azRemembering(t))
	code, out, talk := call(t, "credentials", "-o", "json")
	var c sandbox.Credentials
	if err := json.Unmarshal([]byte(out), &c); code != cmdutil.ExitOK || err != nil || c.Azure == nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, talk)
	}
	az := c.Azure
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		az.Endpoint+"/subscriptions/"+az.Subscription+"/resourceGroups/"+az.ResourceGroup+"/resources?api-version=2021-04-01", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+az.BearerToken)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	// the tutorials' way to the forge's token
	if n := len(regexp.MustCompile(`"token": "`).FindAllString(out, -1)); n != 1 {
		t.Errorf("%d tokens\n%s", n, out)
	}
	_, out, _ = call(t, "credentials")
	for _, says := range []string{az.Endpoint, az.Subscription, az.Tenant, az.ResourceGroup, az.BearerToken} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not shown:\n%s", says, out)
		}
	}
	if !strings.HasPrefix(out, "url ") {
		t.Errorf("the forge is not first:\n%s", out)
	}
}

func TestCredentialsWithoutTheEmulatedAzure(t *testing.T) {
	logHome(t)
	if code, out, talk := call(t, "credentials", "-o", "json"); code != cmdutil.ExitOK || strings.Contains(out, "azure") {
		t.Errorf("exit code %d\n%s%s", code, out, talk)
	}
}
