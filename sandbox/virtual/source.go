package virtual

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// sourceKey names a branch of a repository.
type sourceKey struct{ url, branch string }

// trimmed is a URL in one spelling of several.
func trimmed(url string) string {
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}

// source is a branch that clusters follow. It is fetched once for all of them.
type source struct {
	sourceKey
	followers map[*follower]struct{}

	head     *revision // nil before the first fetch
	problem  string    // why it could not be fetched the last time
	stale    bool      // was pushed to since the last fetch began
	fetching bool
	next     time.Time // when it is fetched without a push
}

// revision is a commit of a source.
type revision struct {
	commit string
	at     time.Time // when it was seen
	first  bool      // was there when the source began to be followed
	files  map[string][]byte
	read   map[folderKey]*folder
}

// source returns the one of a branch, and makes it if there is none.
func (f *Fleet) source(k sourceKey) *source {
	s := f.sources[k]
	if s == nil {
		s = &source{sourceKey: k, followers: map[*follower]struct{}{}, stale: true}
		f.sources[k] = s
		f.wakeUp()
	}
	return s
}

// fetch looks whether a branch has moved, and hands the news to its followers.
func (f *Fleet) fetch(ctx context.Context, s *source) {
	f.mu.Lock()
	head := s.head
	f.mu.Unlock()
	var fetched *revision
	var err error
	select {
	case f.slots <- struct{}{}:
		fetched, err = f.read(ctx, s.sourceKey, head)
		<-f.slots
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.fetching = false
	if ctx.Err() != nil {
		s.stale = true // for the next Run
		return
	}
	defer f.wakeUp()
	now := time.Now()
	s.next = now.Add(f.options.Interval)
	problem := ""
	if err != nil {
		problem, s.next = err.Error(), now.Add(min(fetchRetry, f.options.Interval))
	}
	if problem == s.problem && fetched == head {
		return
	}
	if problem != s.problem && problem != "" {
		f.options.Log.Info("virtual clusters cannot fetch", "repository", s.url, "branch", s.branch, "reason", problem)
	}
	s.problem = problem
	if fetched != head {
		fetched.at = now
		s.head = fetched
	}
	for w := range s.followers {
		f.plan(w, now)
	}
}

// read returns the head of a branch, which is the one before where it has not
// moved.
func (f *Fleet) read(ctx context.Context, k sourceKey, before *revision) (*revision, error) {
	commit, err := f.options.Git.Head(ctx, k.url, k.branch)
	if err != nil {
		return before, err
	}
	if before != nil && before.commit == commit {
		return before, nil
	}
	tree, err := f.options.Git.Tree(ctx, k.url, k.branch, commit)
	if err != nil {
		return before, fmt.Errorf("commit %.8s: %w", commit, err)
	}
	files := map[string][]byte{}
	for name, content := range tree.Files {
		files[name] = nil
		if isManifest(name) {
			files[name] = content
		}
	}
	return &revision{commit: commit, first: before == nil, files: files, read: map[folderKey]*folder{}}, nil
}

// folder returns a folder of the revision. It is read once for all clusters.
func (r *revision) folder(k folderKey, forge string) *folder {
	d := r.read[k]
	if d == nil {
		d = readFolder(r.files, k, forge)
		r.read[k] = d
	}
	return d
}
