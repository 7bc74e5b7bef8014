package driver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
)

// reader is a forge that may refuse.
type reader struct {
	model.Reader
	refuses error
}

func (r *reader) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	if r.refuses != nil {
		return nil, r.refuses
	}
	return r.Reader.Read(ctx, ref)
}

// TestFollowers: what follows a wave's branch has the commit of the environment's branch that its own
// holds, one that is gone is itself, and what cannot be read is unknown.
func TestFollowers(t *testing.T) {
	p := newPlatform(t)
	p.until(rollout.Complete)
	branch := rollout.Branch("dev", "large", "canary")
	first, held := p.forge.Branch(repo, "dev"), p.forge.Branch(repo, branch)
	p.push("2")
	if _, err := p.run(); err != nil {
		t.Fatal(err)
	}
	second, next, gone := p.forge.Branch(repo, "dev"), p.forge.Branch(repo, branch), strings.Repeat("9", 40)
	forge := &reader{Reader: p.forge}
	f := driver.NewFollowers(forge)
	resolved := func(f *driver.Followers, commit, applied, on string) fleet.Subscription {
		given := []fleet.Subscription{{Kind: fleet.Kustomization, Repo: forgefake.URL(repo), Branch: on, Commit: commit, Applied: applied, State: fleet.Compliant}}
		c := fleet.Cluster{Subscriptions: given}
		f.Resolve(t.Context(), &c)
		if given[0].Branch != on {
			t.Error("the caller's subscriptions are changed")
		}
		return c.Subscriptions[0]
	}
	for name, c := range map[string]struct {
		commit, applied, on string
		want                fleet.Subscription
	}{
		"it has what its wave has":     {next, next, branch, fleet.Subscription{Branch: "dev", Wave: "canary", Commit: second, Applied: second}},
		"it has an earlier commit":     {next, held, branch, fleet.Subscription{Branch: "dev", Wave: "canary", Commit: second, Applied: first}},
		"it has fetched nothing yet":   {"", "", branch, fleet.Subscription{Branch: "dev", Wave: "canary"}},
		"its commit is gone":           {gone, gone, branch, fleet.Subscription{Branch: "dev", Wave: "canary", Commit: gone, Applied: gone}},
		"it follows the environment's": {second, first, "dev", fleet.Subscription{Branch: "dev", Commit: second, Applied: first}},
	} {
		for _, f := range []*driver.Followers{f, driver.NewFollowers(forge)} {
			got := resolved(f, c.commit, c.applied, c.on)
			if got.Branch != c.want.Branch || got.Wave != c.want.Wave || got.Commit != c.want.Commit || got.Applied != c.want.Applied || got.State != fleet.Compliant {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	forge.refuses = errors.New("access denied")
	if got := resolved(f, gone, gone, branch); got.Branch != "dev" || got.State != fleet.Unknown || !strings.Contains(got.Reason, "access denied") {
		t.Errorf("known before, and not read now: %+v", got)
	}
	if got := resolved(driver.NewFollowers(forge), next, next, branch); got.Branch != branch || got.State != fleet.Compliant {
		t.Errorf("never read: %+v", got)
	}
}
