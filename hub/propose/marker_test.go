package propose

import (
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// TestMarkerOfBefore: the marker of one pull request says nothing of another one with the same edits.
func TestMarkerOfBefore(t *testing.T) {
	key := NewKey("secret")
	opened := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pr := forge.PullRequest{Head: branchPrefix + "a", Base: "dev", Own: true, Created: opened}
	pr.Body = key.sign(marker{environment: "dev", author: "ann", id: "ann", at: opened.Unix()}, "acme/control", pr).String()
	for _, c := range []struct {
		after  time.Duration
		author string
	}{{0, "ann"}, {5 * time.Minute, "ann"}, {-5 * time.Minute, "ann"}, {time.Hour, ""}, {-time.Hour, ""}} {
		later := pr
		later.Created = opened.Add(c.after)
		if m := key.marker("acme/control", later); m.environment != "dev" || m.author != c.author {
			t.Errorf("opened %s later: %+v", c.after, m)
		}
	}
	// who proposes the same again takes over what is nobody's
	later := pr
	later.Created = opened.Add(time.Hour)
	m := key.again("acme/control", later, Author{Name: "ben"}, marker{environment: "dev", author: "ben", id: "ben", at: opened.Add(24 * time.Hour).Unix()})
	later.Body = m.String()
	if m := key.marker("acme/control", later); m.author != "ben" {
		t.Errorf("%+v", m)
	}
}
