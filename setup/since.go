package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/fixtures/seed"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

// count finds the commits that were not there in the beginning. They are told
// by author and time, not by what this version of kalypso would begin with: an
// older one may have made the repository.
func (m *Made) count(ctx context.Context, f *github.Forge) error {
	heads, err := f.Branches(ctx, m.Name)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, branch := range slices.Sorted(maps.Keys(heads)) {
		commits, more, err := f.Commits(ctx, m.Name, branch)
		if err != nil {
			return fmt.Errorf("commits on %s of %s: %w", branch, m.Name, err)
		}
		b := Branch{Name: branch}
		for _, c := range commits {
			if c.Author == seed.AuthorEmail && c.When.Equal(seed.When) {
				continue
			}
			b.Commits++
			seen[c.ID] = true
		}
		if b.Commits > 0 {
			m.Since = append(m.Since, b)
		}
		m.More = m.More || more
	}
	m.Commits = len(seen)
	return nil
}

// Loss says what is lost with a repository beyond what it began with.
func (m Made) Loss() string {
	var parts []string
	if m.Commits > 0 {
		var branches []string
		for _, b := range m.Since {
			branches = append(branches, fmt.Sprintf("%s %d", b.Name, b.Commits))
		}
		count := plural(m.Commits, "commit")
		if m.More {
			count = "more than " + count
		}
		parts = append(parts, fmt.Sprintf("%s since then (%s)", count, strings.Join(branches, ", ")))
	}
	if m.Open > 0 {
		parts = append(parts, plural(m.Open, "open issue or pull request"))
	}
	if len(parts) == 0 {
		return "as it was made"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "open issue or pull request" {
		return fmt.Sprintf("%d open issues and pull requests", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
