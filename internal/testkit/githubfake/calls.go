package githubfake

import (
	"strings"
	"time"
)

// Call is a request that was made.
type Call struct {
	API    bool
	Kind   string // the method and the route, as in "GET /repos/{owner}/{repo}/pulls"; of git "fetch", "push" or "refs"
	Path   string
	Status int // 0 when there was no whole answer
}

// Write tells whether a request may change something.
func (c Call) Write() bool {
	return !strings.HasPrefix(c.Kind, "GET ") && c.Kind != "fetch" && c.Kind != "refs"
}

// Calls returns the requests since the last Calls.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Count counts the requests of each kind, API requests alone.
func Count(calls []Call) (byKind map[string]int, all int) {
	byKind = map[string]int{}
	for _, c := range calls {
		if c.API {
			byKind[c.Kind]++
			all++
		}
	}
	return byKind, all
}

// rate is the primary rate limit.
type rate struct {
	limit, left int
	reset       time.Time
}

// SetRate says how many requests an account has left until a time.
func (s *Server) SetRate(left int, reset time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.left, s.rate.reset = left, reset
}
