package ci

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// states are what an observer sees, by time since the first look.
type states []struct {
	from  time.Duration
	state fleet.State
}

// observe returns an observer of one cluster that has the commit.
func (s states) observe(commit string) fleet.Observer {
	began := time.Now()
	return observerFunc(func() ([]fleet.Configuration, error) {
		now := s[0].state
		for _, one := range s {
			if time.Since(began) >= one.from {
				now = one.state
			}
		}
		return []fleet.Configuration{{Cluster: "drone", Name: "dev", Commit: commit, State: now}}, nil
	})
}

type observerFunc func() ([]fleet.Configuration, error)

func (f observerFunc) Observe(context.Context, fleet.Source) ([]fleet.Configuration, error) {
	return f()
}

// TestGrace: a failure counts when it has lasted, and then at once, however
// slowly the fleet is looked at.
func TestGrace(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	for name, c := range map[string]struct {
		states states
		after  time.Duration // that the wait ends
		fails  bool
	}{
		"it fails and stays so":  {states{{0, fleet.NonCompliant}}, 15 * time.Second, true},
		"it fails later":         {states{{0, fleet.Pending}, {time.Second, fleet.NonCompliant}}, 17 * time.Second, true},
		"it passes":              {states{{0, fleet.NonCompliant}, {10 * time.Second, fleet.Compliant}}, 15 * time.Second, false},
		"it fails with a break":  {states{{0, fleet.NonCompliant}, {9 * time.Second, fleet.Pending}, {12 * time.Second, fleet.NonCompliant}, {20 * time.Second, fleet.Compliant}}, 25 * time.Second, false},
		"it is well immediately": {states{{0, fleet.Compliant}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				d := Deployment{URL: "http://forge.test/acme/gitops", Branch: "dev", Commit: commit, Limit: time.Hour, Pace: 5 * time.Second, Grace: 15 * time.Second}
				_, err := WaitForDeployment(t.Context(), nil, c.states.observe(commit), d)
				var verdict *NotDeployedError
				if errors.As(err, &verdict) != c.fails || !c.fails && err != nil {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > c.after || took < c.after-5*time.Second {
					t.Errorf("it took %s, want at most %s", took, c.after)
				}
			})
		})
	}
}

func TestReasonsOfALargeFleetAreCut(t *testing.T) {
	var reasons []string
	for i := range 1000 {
		reasons = append(reasons, fmt.Sprintf("cluster store-%04d is Non-Compliant and has the commit: it broke", i))
	}
	text := (&NotDeployedError{strings.Repeat("a", 40), reasons}).Error()
	if len(text) > 2000 || !strings.Contains(text, "store-0000") || !strings.Contains(text, "990 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
