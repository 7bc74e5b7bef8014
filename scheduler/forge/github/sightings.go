package github

import (
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "github.com/google/go-github/v88/github"
)

// sightingTime is how long a pull request counts as seen. A run lists them a
// moment before it saves one, so that one more request would tell nothing new;
// and what a person changes in that moment does no harm, because labels are
// added and taken off one by one.
const sightingTime = 30 * time.Second

// sightings are the pull requests that were seen a moment ago.
type sightings struct {
	mu   sync.Mutex
	seen map[string]sighting // by repository and number
}

type sighting struct {
	pull *sdk.PullRequest
	at   time.Time
}

func sightingKey(repo string, number int) string { return fmt.Sprintf("%s#%d", repo, number) }

func (s *sightings) note(repo string, p *sdk.PullRequest) {
	kept := &sdk.PullRequest{
		Number: p.Number, NodeID: p.NodeID, Title: p.Title, Draft: p.Draft, Labels: slices.Clone(p.Labels),
		State: p.State, MergedAt: p.MergedAt,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]sighting{}
	}
	now := time.Now()
	for key, old := range s.seen {
		if now.Sub(old.at) > sightingTime {
			delete(s.seen, key)
		}
	}
	s.seen[sightingKey(repo, p.GetNumber())] = sighting{kept, now}
}

// last returns a pull request of which number, node ID, title, state, draft
// state and labels are known; nil when it was not seen lately.
func (s *sightings) last(repo string, number int) *sdk.PullRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.seen[sightingKey(repo, number)]
	if !ok || time.Since(old.at) > sightingTime {
		return nil
	}
	p := *old.pull
	p.Labels = slices.Clone(p.Labels)
	return &p
}

func (s *sightings) forget(repo string, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, sightingKey(repo, number))
}
