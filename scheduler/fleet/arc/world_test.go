package arc_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc/arctest"
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
// that may read and write it.
func newAzure(t testing.TB, clusters int) *arctest.Server {
	t.Helper()
	s := arctest.Start(t)
	s.App(app, secret)
	for _, id := range []string{east, west} {
		s.Subscription(id)
	}
	s.Allow(app, arctest.Contributor, "/subscriptions/"+east)
	for i := range clusters {
		cluster := s.Cluster(east, "fleet", fmt.Sprintf("edge-%03d", i))
		s.Follow(cluster, "platform", source.Repo+".git", source.Branch)
		s.Report(cluster, "platform", commit, "Compliant")
		s.Follow(cluster, "other", source.Repo, "stage")
	}
	return s
}

// variables are those of a process; what the machine has set is not seen.
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
var login = []string{"AZURE_TENANT_ID", arctest.Tenant, "AZURE_CLIENT_ID", app, "AZURE_CLIENT_SECRET", secret}

// connect makes a client of the server's subscription in the east.
func connect(t testing.TB, s *arctest.Server, change ...func(*arc.Settings)) *arc.Client {
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

// hasty makes a client not wait, and gives each request so long.
func hasty(c *arc.Client, limit time.Duration, waited *[]time.Duration) *arc.Client {
	c.Impatient(limit, func(d time.Duration) {
		if waited != nil {
			*waited = append(*waited, d.Round(100*time.Millisecond))
		}
	})
	return c
}
