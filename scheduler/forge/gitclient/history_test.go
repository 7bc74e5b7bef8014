package gitclient_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// TestHistory: the commits of a branch by its merges, and which of them has changed a
// folder, on a server that leaves file contents out and on one that cannot.
func TestHistory(t *testing.T) {
	for name, filters := range map[string]string{"filters": "true", "does not filter": "false"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			remote, work := s.create("gitops")
			s.git(filepath.Join(s.root, "gitops.git"), "config", "uploadpack.allowFilter", filters)
			commit := func(file, content string) string {
				t.Helper()
				writeFile(t, filepath.Join(work, file), content)
				return s.push(work, "main", file+content)
			}
			first := commit("drone/web/a.yaml", "1")
			second := commit("drone/api/a.yaml", "1")
			// what is merged counts from the merge on
			s.git(work, "checkout", "-q", "-b", "side")
			s.push(work, "side", "on the side")
			writeFile(t, filepath.Join(work, "large/web/a.yaml"), "1")
			side := s.push(work, "side", "2")
			s.git(work, "checkout", "-q", "main")
			s.git(work, "merge", "-q", "--no-ff", "-m", "merge", "side")
			merge := s.push(work, "main", "after the merge")
			merged := s.git(work, "rev-parse", "HEAD~1")
			removed := func() string {
				s.git(work, "rm", "-q", "-r", "drone/api")
				return s.push(work, "main", "removed")
			}()
			h, err := gitclient.New(&http.Client{}, 1<<20).History(ctx, remote, "main", []string{"", "drone/web", "drone", "drone/api", "large", "none"})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, c := range h.Commits {
				ids = append(ids, c.ID)
				if time.Since(c.When).Abs() > time.Hour || c.When.Location() != time.UTC {
					t.Errorf("%+v", c)
				}
			}
			if diff := cmp.Diff([]string{removed, merge, merged, second, first}, ids); diff != "" || !h.Whole {
				t.Errorf("whole %t\n%s", h.Whole, diff)
			}
			if diff := cmp.Diff(map[string]int{"": 0, "drone/web": 4, "drone": 0, "drone/api": 0, "large": 2, "none": 5}, h.Changed); diff != "" {
				t.Error(diff)
			}
			if h.Index(merged) != 2 || h.Index(side) != -1 {
				t.Errorf("index of the merge %d, of what it merged %d", h.Index(merged), h.Index(side))
			}
		})
	}
}

// TestHistoryIsBounded: of a long branch there are the newest commits, and what was changed
// before is said to be so.
func TestHistoryIsBounded(t *testing.T) {
	gitclient.BoundHistory(t, 3)
	s := newServer(t)
	remote, work := s.create("gitops")
	writeFile(t, filepath.Join(work, "old/a.yaml"), "1")
	var head string
	for _, content := range []string{"1", "2", "3", "4"} {
		head = s.push(work, "main", content)
	}
	h, err := gitclient.New(&http.Client{}, 1<<20).History(ctx, remote, "main", []string{"old", "old/a.yaml", "a.txt/none"})
	if err != nil || len(h.Commits) != 3 || h.Whole || h.Commits[0].ID != head {
		t.Fatalf("%v: %+v", err, h)
	}
	if diff := cmp.Diff(map[string]int{"old": 3, "old/a.yaml": 3, "a.txt/none": 3}, h.Changed); diff != "" {
		t.Error(diff)
	}
	if _, err := gitclient.New(&http.Client{}, 1<<20).History(ctx, remote, "none", nil); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("no such branch: %v", err)
	}
}

// TestCommitInfo: what commits say, also those that no branch is at.
func TestCommitInfo(t *testing.T) {
	s := newServer(t)
	remote, work := s.create("control")
	s.git(filepath.Join(s.root, "control.git"), "config", "uploadpack.allowAnySHA1InWant", "true")
	first := s.push(work, "main", "first")
	second := s.push(work, "main", "second")
	c := gitclient.New(&http.Client{}, 1<<20)
	for commit, subject := range map[string]string{first: "first", second: "second"} {
		info, err := c.CommitInfo(ctx, remote, commit)
		if err != nil || info.Subject() != subject || info.Author == "" || time.Since(info.When) > time.Hour || time.Until(info.When) > time.Hour {
			t.Errorf("%+v, %v", info, err)
		}
	}
	for _, commit := range []string{strings.Repeat("0", 39) + "1", second[:8], "main"} {
		if info, err := c.CommitInfo(ctx, remote, commit); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: %+v, %v", commit, info, err)
		}
	}
}
