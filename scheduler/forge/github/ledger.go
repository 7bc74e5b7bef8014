package github

import (
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

const (
	// relistTime is how long a list of issues is brought up to date instead of
	// being read anew: an issue that an administrator deletes only goes missing.
	relistTime = time.Hour
	// listOverlap makes up for an update that GitHub's list did not have yet.
	listOverlap = time.Minute
)

// ledger remembers this account's issues, so that a list takes one request
// however many issues and pull requests there have been. It also knows the
// issues that were just opened, which GitHub's list may not have for a moment:
// without them they would be opened twice.
type ledger struct {
	mu    sync.Mutex
	repos map[string]*book
}

// book is what is known of one repository. Its lock is held while GitHub is
// asked, so that two lists do not overtake each other.
type book struct {
	mu     sync.Mutex
	issues map[int]forge.Issue
	since  time.Time // what was updated later is asked for; zero: everything
	full   time.Time // when everything was asked for
}

func (l *ledger) of(repo string) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.repos == nil {
		l.repos = map[string]*book{}
	}
	a, ok := l.repos[repo]
	if !ok {
		a = &book{issues: map[int]forge.Issue{}}
		l.repos[repo] = a
	}
	return a
}

// begin returns since when updates are to be asked for. The caller holds a.mu.
func (a *book) begin(now time.Time) time.Time {
	if now.Sub(a.full) > relistTime {
		return time.Time{}
	}
	return a.since
}

// learn takes in what GitHub listed for since. asked is the server's time when
// it was asked. The question stays the same while nothing is new, so that its
// answer is 304.
func (a *book) learn(since, now, asked time.Time, listed map[int]forge.Issue, updated bool) {
	if since.IsZero() {
		a.issues, a.full, a.since = listed, now, asked.Add(-listOverlap)
		return
	}
	maps.Copy(a.issues, listed)
	if updated {
		a.since = asked.Add(-listOverlap)
	}
}

// list returns the issues, newest first.
func (a *book) list() []forge.Issue {
	all := slices.Collect(maps.Values(a.issues))
	slices.SortFunc(all, func(x, y forge.Issue) int { return y.Number - x.Number })
	return all
}

// saved notes an issue that was saved.
func (l *ledger) saved(repo string, i forge.Issue) {
	a := l.of(repo)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issues[i.Number] = i
}

// doubt makes the next list read everything.
func (l *ledger) doubt(repo string) {
	a := l.of(repo)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full = time.Time{}
}

// serverTime is when GitHub gave an answer, by its own clock.
func serverTime(r *sdk.Response) time.Time {
	if r != nil && r.Response != nil {
		if t, err := time.Parse(time.RFC1123, r.Header.Get("Date")); err == nil {
			return t
		}
	}
	return time.Now()
}
