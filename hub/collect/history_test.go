package collect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
)

// TestHistory: what git says is in the store at once after a push, and a repository that cannot
// be read keeps what was known, and says why.
func TestHistory(t *testing.T) {
	p := newPlatform(t)
	c, s, stop := p.run(nil)
	awaitHistory := func(want ...string) {
		t.Helper()
		await(t, fmt.Sprint(want), func() error {
			all, err := s.Histories(t.Context())
			if err != nil {
				return err
			}
			var got []string
			for _, h := range all {
				got = append(got, fmt.Sprintf("%s@%s %d at %.8s", strings.TrimPrefix(h.Repo, p.forge.URL+"/acme/"), h.Branch, h.Length, h.Head))
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("%v", got)
			}
			return nil
		})
	}
	short := func(branch string) string { return p.heads[branch][:8] }
	awaitHistory("gitops@dev 1 at "+short("gitops@dev"), "shop-gitops@dev 1 at "+short("shop-gitops@dev"))
	versions := func() (all []string) {
		t.Helper()
		found, err := s.BranchVersions(t.Context(), p.forge.URL+"/acme/shop-gitops", "dev", false)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			all = append(all, fmt.Sprintf("%s %s %d-%d", v.Target, v.Version, v.From, v.To))
		}
		return all
	}
	p.heads["shop-gitops@dev"] = p.repos["shop-gitops"].Push("dev", map[string]string{"descriptors/shop-test.yaml": strings.Replace(descriptor, "1.0", "2.0", 1)})
	p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	awaitHistory("gitops@dev 1 at "+short("gitops@dev"), "shop-gitops@dev 2 at "+short("shop-gitops@dev"))
	if got, want := fmt.Sprint(versions()), "[shop-test 1.0 1-2 shop-test 2.0 2-0]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	// also what came while no hub was there
	stop()
	p.heads["gitops@dev"] = p.repos["gitops"].Push("dev", map[string]string{"README.md": "more"})
	c, s, _ = p.run(nil)
	awaitHistory("gitops@dev 2 at "+short("gitops@dev"), "shop-gitops@dev 2 at "+short("shop-gitops@dev"))

	p.forge.Fail(giteafake.Fault{
		On: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "shop-gitops.git/git-upload-pack") }, Times: -1, Answer: httpfault.Page(http.StatusInternalServerError),
	})
	p.repos["shop-gitops"].Push("dev", map[string]string{"README.md": "more"})
	p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	await(t, "the source fails", func() error {
		sources, err := s.Sources(t.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(sources, func(s store.Source) bool { return s.Name == "history" })
		if i < 0 || sources[i].State != stateFailing || !strings.Contains(sources[i].Reason, "shop-gitops") {
			return fmt.Errorf("%+v", sources)
		}
		return nil
	})
	awaitHistory("gitops@dev 2 at "+short("gitops@dev"), "shop-gitops@dev 2 at "+short("shop-gitops@dev"))
	await(t, "the branch says why", func() error {
		all, err := s.Histories(t.Context())
		if err == nil && (all[0].Error != "" || all[1].Error == "") {
			err = fmt.Errorf("%+v", all)
		}
		return err
	})
}

// TestConfiguration: as it is planned with where it comes from, and as a commit has it.
func TestConfiguration(t *testing.T) {
	p := newPlatform(t)
	p.heads["gitops@dev"] = p.repos["gitops"].Push("dev", map[string]string{"small/shop-test/platform-config.yaml": "kind: ConfigMap\nmetadata: {name: rendered}\ndata:\n  REGION: east\n"})
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "rolling 1.0", "edge-2": "ok 1.0"})
	only := func(found history.Configuration) history.ConfigValue {
		t.Helper()
		if len(found.Values) != 1 || found.Error != "" {
			t.Fatalf("%+v", found)
		}
		return found.Values[0]
	}
	now, err := c.Configuration(t.Context(), "dev", "")
	if err != nil {
		t.Fatal(err)
	}
	if v := only(now); v.ClusterType != "small" || v.Target != "shop-test" || v.Key != "REGION" || v.Value != "west" || v.ConfigMap != "region" || v.Position.File != "config.yaml" || v.Position.Line != 7 || !now.Changed["shop-test"] {
		t.Errorf("%+v", now)
	}
	then, err := c.Configuration(t.Context(), "dev", p.heads["gitops@dev"])
	if err != nil {
		t.Fatal(err)
	}
	if v := only(then); v.Value != "east" || v.ConfigMap != "rendered" || v.Position.File != "small/shop-test/platform-config.yaml" || v.Position.Line != 4 {
		t.Errorf("%+v", then)
	}
	if _, err := c.Configuration(t.Context(), "none", ""); err == nil {
		t.Error("an environment that there is not")
	}
}
