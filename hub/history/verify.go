package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// maxDifferences is how many Verify returns.
const maxDifferences = 20

// Verification is what a comparison with git has found.
type Verification struct {
	Branches    int          `json:"branches"` // that were compared
	Commits     int          `json:"commits"`
	Assignments int          `json:"assignments"`
	Versions    int          `json:"versions"`
	Differences []Difference `json:"differences"` // the first of them
}

// Difference is something that the store has otherwise than git.
type Difference struct {
	Repo   string `json:"repo"` // without credentials
	Branch string `json:"branch"`
	What   string `json:"what"`
	Store  string `json:"store"` // "" for nothing
	Git    string `json:"git"`
}

// Verify reads all again into an empty store, and compares the newest epochs of both, up to
// where both are: the hub may go on meanwhile. The branches are those of Read. What cannot be
// read is an error, since nothing is known of it then.
func (r *Reader) Verify(ctx context.Context, environments []model.Reference, rebuilt *store.Store) (Verification, error) {
	v := Verification{Differences: []Difference{}}
	again := *r
	again.Store = rebuilt
	results, err := again.Read(ctx, environments, nil)
	if err != nil {
		return v, err
	}
	known, err := r.known(ctx)
	if err != nil {
		return v, err
	}
	roots := map[[2]string][]string{}
	for _, p := range platformBranches(environments) {
		roots[p.key()] = p.Roots
	}
	for _, one := range results {
		key := [2]string{one.Repo, one.Branch}
		switch {
		case one.Error != "" && !one.former && known[key].Length > 0:
			return v, errors.New(one.Error)
		case one.Error != "" || len(v.Differences) >= maxDifferences:
			continue
		}
		c := &comparison{key: key, roots: roots[key], ours: r.Store, git: rebuilt, v: &v}
		if err := c.branch(ctx, known[key], one.Commits); err != nil {
			return v, err
		}
	}
	v.Differences = v.Differences[:min(len(v.Differences), maxDifferences)]
	return v, nil
}

// comparison is that of one branch.
type comparison struct {
	key       [2]string
	roots     []string
	ours, git *store.Store
	v         *Verification
	length    int // up to which both were read
}

func (c *comparison) differs(what, ours, git string) {
	c.v.Differences = append(c.v.Differences, Difference{c.key[0], c.key[1], what, ours, git})
}

func (c *comparison) branch(ctx context.Context, was store.History, length int) error {
	c.v.Branches++
	c.length = min(length, was.Length)
	if c.length == 0 && length > 0 {
		c.differs("commits", "", fmt.Sprint(length))
		return nil
	}
	for _, root := range c.roots {
		if was.Roots[root] < c.length {
			c.differs(fmt.Sprintf("commits whose assignments below folder %q were read", root), fmt.Sprint(was.Roots[root]), fmt.Sprint(c.length))
			return nil
		}
	}
	for _, compare := range []func(context.Context) error{c.commits, c.assignments, c.versions} {
		if err := compare(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) commits(ctx context.Context) error {
	for from := 1; from <= c.length; from += commitsEach {
		to := min(from+commitsEach-1, c.length)
		ours, err := c.ours.Commits(ctx, c.key[0], c.key[1], from, to)
		if err != nil {
			return err
		}
		git, err := c.git.Commits(ctx, c.key[0], c.key[1], from, to)
		if err != nil {
			return err
		}
		c.v.Commits += len(git)
		for _, list := range [][]store.Commit{ours, git} {
			for i := range list {
				list[i].Epoch = 0 // how often it was pushed with force, git does not know
			}
		}
		compareRows(c, ours, git, func(one store.Commit) (name, text string) {
			return fmt.Sprintf("commit %d", one.Seq), fmt.Sprintf("%s of %s at %s, pull request %d: %s", one.SHA, one.Author, one.Committed, one.PullRequest, one.Subject)
		})
	}
	return nil
}

func (c *comparison) assignments(ctx context.Context) error {
	read := func(s *store.Store) ([]store.DesiredAssignment, error) {
		all, err := s.DesiredAssignments(ctx, c.key[0], c.key[1], false)
		all = slices.DeleteFunc(all, func(d store.DesiredAssignment) bool { return d.From > c.length || !slices.Contains(c.roots, d.Root) })
		for i := range all {
			all[i].To = c.clipped(all[i].To)
		}
		return all, err
	}
	ours, err := read(c.ours)
	if err != nil {
		return err
	}
	git, err := read(c.git)
	c.v.Assignments += len(git)
	compareRows(c, ours, git, func(d store.DesiredAssignment) (name, text string) {
		return fmt.Sprintf("assignment %s from commit %d", strings.Join([]string{d.Root, d.ClusterType, d.Target}, "/"), d.From),
			fmt.Sprintf("to %d, folder %s, follows %s@%s:%s", d.To, d.Digest, d.Repo, d.Branch, d.Path)
	})
	return err
}

func (c *comparison) versions(ctx context.Context) error {
	read := func(s *store.Store) ([]store.TargetVersion, error) {
		all, err := s.BranchVersions(ctx, c.key[0], c.key[1], false)
		all = slices.DeleteFunc(all, func(v store.TargetVersion) bool { return v.From > c.length })
		for i := range all {
			all[i].To, all[i].Epoch = c.clipped(all[i].To), 0
		}
		return all, err
	}
	ours, err := read(c.ours)
	if err != nil {
		return err
	}
	git, err := read(c.git)
	c.v.Versions += len(git)
	compareRows(c, ours, git, func(v store.TargetVersion) (name, text string) {
		return fmt.Sprintf("version of %s in environment %s from commit %d", v.Target, v.Environment, v.From), fmt.Sprintf("to %d, %s of commit %s", v.To, v.Version, v.SourceCommit)
	})
	return err
}

// clipped is where something has ended, as it was when the branch had its first commits only.
func (c *comparison) clipped(to int) int {
	if to > c.length {
		return 0
	}
	return to
}

// compareRows compares two lists by the names of their rows.
func compareRows[T comparable](c *comparison, ours, git []T, describe func(T) (name, text string)) {
	if slices.Equal(ours, git) {
		return
	}
	type row struct{ ours, git string }
	rows := map[string]*row{}
	var names []string
	at := func(name string) *row {
		if rows[name] == nil {
			rows[name] = &row{}
			names = append(names, name)
		}
		return rows[name]
	}
	for _, one := range git {
		name, text := describe(one)
		at(name).git = text
	}
	for _, one := range ours {
		name, text := describe(one)
		at(name).ours = text
	}
	for _, name := range names {
		if r := rows[name]; r.ours != r.git && len(c.v.Differences) < maxDifferences {
			c.differs(name, r.ours, r.git)
		}
	}
}
