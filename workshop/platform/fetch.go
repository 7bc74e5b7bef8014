package platform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
)

// fetch copies all branches: of a clone its own, and those that it has fetched.
func (c *collection) fetch(ctx context.Context, one *clone, from string) error {
	if err := initialize(one.git.dir); err != nil {
		return err
	}
	one.remote = one.git
	depth, fetched := c.options.Depth, ""
	if info, err := os.Stat(from); err == nil {
		if from, err = filepath.Abs(from); err != nil {
			return err
		}
		if !info.IsDir() {
			depth = 0 // a bundle has what it has
		} else if from, err = gitFolder(ctx, from); err != nil {
			return err
		}
		if depth > 0 {
			from = (&url.URL{Scheme: "file", Path: from}).String() // a path would take all of it
		}
		fetched = "refs/remotes/origin/"
	} else if from, one.remote.config = gitcommand.Login(from); one.remote.config == nil && c.options.Credentials != nil {
		user, password := c.options.Credentials(from)
		one.remote = one.remote.authorized(from, user, password)
	}
	one.from = from
	there, err := one.list(ctx, fetched)
	if err != nil {
		return err
	}
	one.branches = there.branches()
	if len(one.branches) == 0 {
		return errors.New("it has no branch")
	}
	args := []string{"fetch", "--progress", "--no-tags", "--force", "--update-shallow", "--no-write-fetch-head"}
	if depth > 0 {
		args = append(args, "--depth", strconv.Itoa(depth))
	}
	if _, err := one.remote.run(ctx, nil, append(append(args, "--", from), there.specs()...)...); err != nil {
		return fmt.Errorf("%w%s", err, c.shallowHint())
	}
	return one.setHead(there.head)
}

// setHead makes a branch the default one.
func (c *clone) setHead(branch string) error {
	c.head = branch
	return os.WriteFile(filepath.Join(c.git.dir, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o666)
}

// initialize makes an empty bare repository, as `git init --bare` without a template
// does.
func initialize(dir string) error {
	for _, folder := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), 0o666),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666))
}

// listing is which references a repository has for the branches of its copy.
type listing struct {
	refs map[string]string // by branch
	head string            // the default branch
}

func (l listing) branches() []string { return slices.Sorted(maps.Keys(l.refs)) }

func (l listing) specs() []string {
	var specs []string
	for branch, ref := range l.refs {
		if !strings.HasPrefix(ref, "refs/heads/") {
			specs = append(specs, "+"+ref+":refs/heads/"+branch)
		}
	}
	return append(specs, "+refs/heads/*:refs/heads/*")
}

// list asks which branches there are, with those that a clone has fetched below a
// prefix; its own ones go before. The default branch is what the server says, or in a
// clone what origin had; else the usual names come before what is checked out.
func (c *clone) list(ctx context.Context, fetched string) (listing, error) {
	out, err := c.remote.line(ctx, "ls-remote", "--symref", "--", c.from, "HEAD", "refs/heads/*", "refs/remotes/origin/*")
	l := listing{refs: map[string]string{}}
	if err != nil {
		return l, err
	}
	heads := map[string]string{} // what HEAD and origin/HEAD point to
	for line := range strings.SplitSeq(out, "\n") {
		value, ref, _ := strings.Cut(line, "\t")
		if target, ok := strings.CutPrefix(value, "ref: "); ok {
			heads[ref] = target
		} else if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			l.refs[branch] = ref
		}
	}
	candidates := []string{"main", "master"}
	own := strings.TrimPrefix(heads["HEAD"], "refs/heads/")
	if fetched == "" {
		candidates = append([]string{own}, candidates...)
	} else {
		for line := range strings.SplitSeq(out, "\n") {
			_, ref, _ := strings.Cut(line, "\t")
			branch, ok := strings.CutPrefix(ref, fetched)
			if ok && branch != "HEAD" && l.refs[branch] == "" {
				l.refs[branch] = ref
			}
		}
		candidates = append([]string{strings.TrimPrefix(heads[fetched+"HEAD"], fetched)}, append(candidates, own)...)
	}
	for _, branch := range append(candidates, l.branches()...) {
		if l.refs[branch] != "" {
			l.head = branch
			break
		}
	}
	return l, nil
}

// shallowHint is for what ends the copy of a very large repository, such as a disk
// that is full.
func (c *collection) shallowHint() string {
	if c.options.Depth > 0 {
		return ""
	}
	return "; --depth 1 leaves the history out"
}

func (g git) heads(ctx context.Context) ([]string, error) {
	out, err := g.line(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}
