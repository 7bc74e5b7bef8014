package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// checkout does what actions/checkout does, with git and the forge alone.
func (e *execution) checkout(ctx context.Context, s Step, sight expression.Env, env []string) (map[string]string, error) {
	with := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.With)) {
		v, err := expression.Interpolate(s.With[name], sight)
		if err != nil {
			return nil, fmt.Errorf("with %s: %w", name, err)
		}
		with[name] = v
	}
	c, err := newCheckout(with, e.task, e.folders.Work)
	if err != nil {
		return nil, err
	}
	e.mask.add(c.Token)
	e.mask.add(strings.TrimPrefix(c.authorization(), "AUTHORIZATION: basic "))
	for _, note := range c.Notes {
		e.say("::warning::%s", note)
	}
	e.say("::group::Check out %s %s", c.Repository, or(c.Ref, c.sha))
	defer e.say("::endgroup::")
	git := func(argv ...string) error {
		e.say("%s", strings.Join(argv, " "))
		return e.command(ctx, command{Argv: argv, Env: env, Dir: c.Dir})
	}
	if err := e.makeRepository(c, git); err != nil {
		return nil, err
	}
	var known []string
	if c.needsRefs() {
		if known, err = e.refs(c, git); err != nil {
			return nil, err
		}
	}
	t, err := c.target(known)
	if err != nil {
		return nil, err
	}
	for _, argv := range c.commands(t) {
		if err := git(argv...); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(argv[:2], " "), err)
		}
	}
	head := filepath.Join(e.folders.Files, "head")
	if err := git("sh", "-c", `git rev-parse HEAD | tee "$1"`, "sh", head); err != nil {
		return nil, err
	}
	commit, err := os.ReadFile(head)
	if err != nil {
		return nil, err
	}
	if !c.Persist {
		if err := os.Remove(credentials(c.Dir)); err != nil {
			return nil, err
		}
	}
	return map[string]string{"commit": strings.TrimSpace(string(commit)), "ref": or(c.Ref, c.runRef)}, nil
}

// credentials is the file that git's configuration includes for the token.
func credentials(dir string) string { return filepath.Join(dir, ".git", "kalypso-credentials") }

// makeRepository makes an empty repository that knows the forge. What stood in
// the folder goes, as it does with actions/checkout.
func (e *execution) makeRepository(c checkout, git func(...string) error) error {
	removed, err := empty(c.Dir)
	if err != nil {
		return err
	}
	if removed > 0 && !c.Clean {
		e.say("::warning::clean: false has no effect here: what stood in the folder has been removed. Check out first, or to another path.")
	}
	for _, argv := range [][]string{
		{"git", "init", "--quiet", "--initial-branch=main", "."},
		{"git", "remote", "add", "origin", c.url()},
		{"git", "config", "--local", "include.path", filepath.Base(credentials(c.Dir))},
		{"git", "config", "--local", "gc.auto", "0"},
	} {
		if err := git(argv...); err != nil {
			return err
		}
	}
	return os.WriteFile(credentials(c.Dir), []byte(c.settings()), 0o600)
}

// empty makes an empty folder, and returns how many things have stood there.
func empty(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// refs asks the forge which refs the name can mean.
func (e *execution) refs(c checkout, git func(...string) error) ([]string, error) {
	list := filepath.Join(e.folders.Files, "refs")
	if err := git("sh", "-c", `git ls-remote origin "$1" "$2" > "$3"`, "sh", "refs/heads/"+c.Ref, "refs/tags/"+c.Ref, list); err != nil {
		return nil, fmt.Errorf("git ls-remote: %w", err)
	}
	b, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var known []string
	for line := range strings.Lines(string(b)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			known = append(known, name)
		}
	}
	return known, nil
}
