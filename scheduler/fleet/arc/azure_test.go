package arc_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

const (
	app    = "11111111-0000-4000-8000-000000000001"
	secret = "s3cr3t-of-the-application"
	east   = "aaaaaaaa-0000-4000-8000-00000000000e"
	west   = "bbbbbbbb-0000-4000-8000-00000000000f"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

var source = fleet.Source{Repo: "https://github.com/acme/gitops", Branch: "dev"}

// newAzure is an Azure with a fleet that follows the branch, and an application
// with access to it. The subscription in the west is one that it cannot see.
func newAzure(t testing.TB, clusters int) *armfake.Server {
	t.Helper()
	s := armfake.Start(t, east)
	s.App(app, secret)
	for i := range clusters {
		cluster := s.Cluster(east, "fleet", fmt.Sprintf("edge-%03d", i))
		s.Follow(cluster, "platform", source.Repo+".git", source.Branch)
		s.Report(cluster, "platform", commit, "Compliant")
		s.Follow(cluster, "other", source.Repo, "stage")
	}
	return s
}

// variables sets those of the process, and unsets what this machine has set.
func variables(t testing.TB, set ...string) {
	t.Helper()
	for _, name := range []string{
		"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
		"AZURE_TOKEN_CREDENTIALS", "AZURE_USERNAME", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "PATH",
	} {
		t.Setenv(name, "") // puts it back in the end
		if i := slices.Index(set, name); i >= 0 {
			t.Setenv(name, set[i+1])
		} else if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// login are the variables of the application.
var login = []string{"AZURE_TENANT_ID", armfake.Tenant, "AZURE_CLIENT_ID", app, "AZURE_CLIENT_SECRET", secret}

// connect makes a client of the server's subscription in the east.
func connect(t testing.TB, s *armfake.Server, change ...func(*arc.Settings)) *arc.Client {
	t.Helper()
	settings := arc.Settings{Subscription: east, ConfigDir: t.TempDir(), Transport: s.Transport()}
	for _, c := range change {
		c(&settings)
	}
	c, err := settings.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
