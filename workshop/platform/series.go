package platform

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// ownBranches begin the names of the branches of the scheduler and of workflows.
const ownBranches = forge.BranchPrefix

// seedTime is when the commits were made that a sandbox begins with, as git prints it.
var seedTime = strconv.FormatInt(seed.When.Unix(), 10)

// beginning finds the commit on a branch that the sandbox began with, and the
// original's that it is made of: the same where no address had to be replaced. Both
// are "" where the branch has not got it any more.
func beginning(ctx context.Context, g git, head, began string) (seeded, original string, err error) {
	out, err := g.run(ctx, nil, "log", "--first-parent", "-z", "--format=%H%x01%P%x01%ae%x01%at%x01%s", head)
	if err != nil {
		return "", "", err
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields := strings.SplitN(record, "\x01", 5)
		if len(fields) != 5 {
			continue
		}
		commit, parents := fields[0], strings.Fields(fields[1])
		switch {
		case fields[2] == seed.AuthorEmail && fields[3] == seedTime && fields[4] == strings.TrimSpace(seed.AddressesMessage) && len(parents) == 1:
			return commit, parents[0], nil
		case commit == began, fields[2] == seed.AuthorEmail && fields[3] == seedTime:
			return commit, commit, nil
		}
	}
	return "", "", nil
}

// file is an entry of a tree; the zero value is none.
type file struct{ mode, id string }

// isText reports whether a file may have addresses.
func (f file) isText() bool { return strings.HasPrefix(f.mode, "100") }

// difference is what changes between two trees, by path.
type difference map[string]struct{ before, after file }

// series makes commits on the original of what was committed in the sandbox.
type series struct {
	git
	index    string
	state    map[string]file // the tree in the sandbox, as far as it is replayed
	seeded   map[string]file // the tree that the sandbox began with
	original map[string]file // and what that is made of
	begun    string          // the commit that the sandbox began with
	begin    string          // the original's
	texts    *originals
	squashed []string
}

func newSeries(ctx context.Context, g git, seeded, original string, texts *originals) (*series, error) {
	s := &series{git: g, index: filepath.Join(g.dir, "export-index"), begun: seeded, begin: original, texts: texts}
	s.env = append(slices.Clone(g.env), "GIT_INDEX_FILE="+s.index)
	var err error
	if s.seeded, err = g.tree(ctx, seeded); err != nil {
		return nil, err
	}
	if s.original, err = g.tree(ctx, original); err != nil {
		return nil, err
	}
	s.state = maps.Clone(s.seeded)
	_, err = s.run(ctx, nil, "read-tree", original)
	return s, err
}

// tree lists all files of a commit.
func (g git) tree(ctx context.Context, commit string) (map[string]file, error) {
	records, err := g.records(ctx, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	all := map[string]file{}
	for _, r := range records {
		meta, path, _ := strings.Cut(r, "\t")
		if fields := strings.Fields(meta); len(fields) == 3 {
			all[path] = file{fields[0], fields[2]}
		}
	}
	return all, nil
}

// difference compares two commits.
func (g git) difference(ctx context.Context, before, after string) (difference, error) {
	records, err := g.records(ctx, "diff-tree", "-r", "-z", "--no-renames", before, after)
	if err != nil {
		return nil, err
	}
	d := difference{}
	for i := 0; i+1 < len(records); i += 2 {
		fields := strings.Fields(strings.TrimPrefix(records[i], ":")) // modes, IDs, status
		if len(fields) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %q", records[i])
		}
		one := d[records[i+1]]
		if fields[4] != "A" {
			one.before = file{fields[0], fields[2]}
		}
		if fields[4] != "D" {
			one.after = file{fields[1], fields[3]}
		}
		d[records[i+1]] = one
	}
	return d, nil
}

// step is a commit of the sandbox with what it changes.
type step struct {
	commit string
	difference
}

// replay makes a commit on the original for each one on a branch, and returns the
// last. With generated those of the scheduler come along.
func (s *series) replay(ctx context.Context, head string, generated bool) (string, error) {
	out, err := s.line(ctx, "rev-list", "--first-parent", "--reverse", "--parents", head, "^"+s.begun)
	if err != nil {
		return "", err
	}
	tip := s.begin
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		steps, err := s.steps(ctx, ids[0], ids[1:])
		if err != nil {
			return "", err
		}
		for _, one := range steps {
			s.apply(one.difference)
			if !generated {
				own, err := s.isGenerated(ctx, one.commit)
				if err != nil {
					return "", err
				}
				if own {
					continue
				}
			}
			if tip, err = s.commit(ctx, tip, one); err != nil {
				return "", err
			}
		}
	}
	return tip, nil
}

// steps are the commits that one on the branch stands for. Those that a merge brings
// come one by one where they apply one after the other, and end in what was merged;
// else the merge is one step.
func (s *series) steps(ctx context.Context, commit string, parents []string) ([]step, error) {
	whole, err := s.difference(ctx, parents[0], commit)
	if err != nil || len(parents) == 1 {
		return []step{{commit, whole}}, err
	}
	out, err := s.line(ctx, "log", "--reverse", "--topo-order", "--format=%H %ae %at %P", parents[1], "^"+parents[0])
	if err != nil {
		return nil, err
	}
	var steps []step
	overlay := difference{}
	fits := len(parents) == 2
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) > 2 && fields[1] == seed.AuthorEmail && fields[2] == seedTime {
			continue // of another branch that the sandbox began with: it changes only addresses
		}
		if fits = fits && len(fields) == 4; !fits {
			break
		}
		d, err := s.difference(ctx, fields[3], fields[0])
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{fields[0], d})
		for path, change := range d {
			one, changed := overlay[path]
			if !changed {
				one.before, one.after = s.state[path], s.state[path]
			}
			fits = fits && (one.after == change.before || one.after == s.seeded[path] && change.before == s.original[path])
			one.after = change.after
			overlay[path] = one
		}
	}
	maps.DeleteFunc(overlay, func(_ string, c struct{ before, after file }) bool { return c.before == c.after })
	if fits && maps.Equal(overlay, whole) {
		return steps, nil
	}
	s.squashed = append(s.squashed, commit)
	return []step{{commit, whole}}, nil
}

// apply brings the state to after a step.
func (s *series) apply(d difference) {
	for path, change := range d {
		if change.after == (file{}) {
			delete(s.state, path)
		} else {
			s.state[path] = change.after
		}
	}
}

// isGenerated reports whether the scheduler or a workflow has made a commit.
func (s *series) isGenerated(ctx context.Context, commit string) (bool, error) {
	email, err := s.line(ctx, "show", "--no-patch", "--format=%ae", commit)
	return email == forge.AuthorEmail, err
}

// commit makes a step's commit on top of another one, with the original's addresses.
// A step that changes nothing of the original makes none.
func (s *series) commit(ctx context.Context, parent string, one step) (string, error) {
	var entries bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(one.difference)) {
		after := one.difference[path].after
		if after == (file{}) {
			fmt.Fprintf(&entries, "0 %040d\t%s\x00", 0, path)
			continue
		}
		id, err := s.reversed(ctx, path, after)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "%s %s\t%s\x00", after.mode, id, path)
	}
	if _, err := s.run(ctx, entries.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := s.line(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	if before, err := s.line(ctx, "rev-parse", parent+"^{tree}"); err != nil || before == tree {
		return parent, err
	}
	about, err := s.run(ctx, nil, "show", "--no-patch", "--format=%an%x00%ae%x00%ad%x00%cn%x00%ce%x00%cd%x00%B", "--date=raw", one.commit)
	if err != nil {
		return "", err
	}
	fields := strings.SplitN(string(about), "\x00", 7)
	if len(fields) != 7 {
		return "", fmt.Errorf("git show: unexpected output %q", about)
	}
	g := s.git
	g.env = append(slices.Clone(g.env), "GIT_AUTHOR_NAME="+fields[0], "GIT_AUTHOR_EMAIL="+fields[1], "GIT_AUTHOR_DATE="+fields[2],
		"GIT_COMMITTER_NAME="+fields[3], "GIT_COMMITTER_EMAIL="+fields[4], "GIT_COMMITTER_DATE="+fields[5])
	made, err := g.run(ctx, []byte(fields[6]), "commit-tree", "-p", parent, tree)
	return strings.TrimSpace(string(made)), err
}

// reversed returns the ID of a file's content with the original's addresses.
func (s *series) reversed(ctx context.Context, path string, f file) (string, error) {
	seeded, original := s.seeded[path], s.original[path]
	if f.id == seeded.id {
		return original.id, nil
	}
	if !f.isText() {
		return f.id, nil
	}
	var contents [][]byte
	ids := []string{f.id}
	if seeded.isText() && original.isText() {
		ids = append(ids, seeded.id, original.id)
	}
	err := s.blobs(ctx, ids, func(_ int, content []byte) { contents = append(contents, content) })
	if err != nil {
		return "", err
	}
	contents = append(contents, nil, nil)
	back := s.texts.reverse(contents[0], contents[1], contents[2])
	if bytes.Equal(back, contents[0]) {
		return f.id, nil
	}
	id, err := s.run(ctx, back, "hash-object", "-w", "--stdin")
	return strings.TrimSpace(string(id)), err
}
