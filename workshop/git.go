package workshop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

// gitLimit is how long a repository may take to be fetched.
const gitLimit = 30 * time.Minute

// isURL says whether a location is one of git, with or without #BRANCH:FOLDER.
func isURL(location string) bool {
	location, _, _ = strings.Cut(location, "#")
	scp := strings.Contains(location, ":") && strings.Contains(strings.SplitN(location, ":", 2)[0], "@")
	return strings.Contains(location, "://") || scp
}

// CloneBare makes a bare repository at dir with the branches of another, all of
// them when none is named, and depth commits of each, all when it is 0. What
// cannot be fetched leaves no folder.
func CloneBare(ctx context.Context, url, dir string, depth int, branches ...string) error {
	args := []string{"clone", "--bare", "--quiet", "--no-tags"}
	if depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", depth), "--no-single-branch")
	}
	if err := clone(ctx, url, dir, args...); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", redact.URL(url), err), os.RemoveAll(dir))
	}
	have, err := BareBranches(dir)
	for _, b := range branches {
		if err == nil && !slices.Contains(have, b) {
			err = usage.Errorf("%s has no branch %s%s", redact.URL(url), b, nearest(b, have))
		}
	}
	if err == nil && len(have) == 0 {
		err = usage.Errorf("%s has no branches", redact.URL(url))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	// the copy belongs to nobody
	_, err = gitcommand.Command{Limit: gitLimit}.Output(ctx, "", "--git-dir", dir, "remote", "remove", "origin")
	return err
}

func clone(ctx context.Context, url, dir string, args ...string) error {
	url, login := gitcommand.Login(url)
	_, err := gitcommand.Command{Limit: gitLimit, Settings: login}.Output(ctx, "", append(args, "--", url, dir)...)
	return err
}

// openGit fetches a repository below scratch, and opens the workshop in it.
func openGit(ctx context.Context, location, scratch string) (*Workshop, error) {
	url, at, _ := strings.Cut(location, "#")
	branch, folder, _ := strings.Cut(at, ":")
	if folder != "" && !filepath.IsLocal(filepath.FromSlash(folder)) {
		return nil, usage.Errorf("%s: the folder %s leads out of the repository", redact.URL(location), folder)
	}
	dir, err := os.MkdirTemp(scratch, "workshop-")
	if err != nil {
		return nil, err
	}
	args := []string{"clone", "--quiet", "--depth=1"}
	if branch != "" {
		args = append(args, "--branch", branch)
	}
	if err := clone(ctx, url, dir, args...); err != nil {
		return nil, usage.Errorf("the workshop cannot be fetched from %s: %v", redact.URL(url), err)
	}
	return OpenFolder(filepath.Join(dir, filepath.FromSlash(folder)))
}

// OpenWhole is Open with all repositories: those that are elsewhere are fetched
// below scratch. say gets what is fetched, and may be nil.
func OpenWhole(ctx context.Context, location, scratch string, say func(string)) (*Workshop, error) {
	w, err := Open(ctx, location, scratch)
	if err != nil || !slices.ContainsFunc(w.Repositories, func(r Repository) bool { return r.Git != "" && r.Bare == "" }) {
		return w, err
	}
	dir, err := os.MkdirTemp(scratch, "whole-")
	if err != nil {
		return nil, err
	}
	if err := w.Copy(ctx, dir, say); err != nil {
		return nil, err
	}
	return OpenFolder(dir)
}

// Copy writes the workshop to a new folder that needs no other: what
// workshop.yaml takes from elsewhere is in it as bare repositories. say gets what
// is fetched, and may be nil.
func (w *Workshop) Copy(ctx context.Context, dir string, say func(string)) error {
	if err := w.copyFiles(dir); err != nil {
		return err
	}
	for _, r := range w.Repositories {
		if r.Git == "" || r.Bare != "" {
			continue
		}
		if say != nil {
			say("fetching repository " + r.Name)
		}
		var names []string
		for _, b := range r.Branches {
			names = append(names, b.Name)
		}
		if err := CloneBare(ctx, w.gitPath(r), filepath.Join(dir, RepositoryFolder, r.Name+".git"), 0, names...); err != nil {
			return fmt.Errorf("repository %s: %w", r.Name, err)
		}
	}
	return nil
}

// gitPath is where a repository is fetched from: a URL, or a path.
func (w *Workshop) gitPath(r Repository) string {
	if isURL(r.Git) || filepath.IsAbs(r.Git) {
		return r.Git
	}
	return filepath.Join(w.Dir, filepath.FromSlash(r.Git))
}
