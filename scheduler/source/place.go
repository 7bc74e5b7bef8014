package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// headBranch is the branch name that stands for what is checked out, or what a
// server's HEAD points to. Git lets no branch have it.
const headBranch = "HEAD"

// place is where a repository is read.
type place interface {
	// read returns the content of a branch, or of a commit when that is not
	// "". What is not there is a model.ErrNotFound.
	read(ctx context.Context, branch, commit string) (*model.Tree, error)
	// defaultBranch returns the branch that is meant when none is named.
	defaultBranch(ctx context.Context) (string, error)
	// name is how references and positions spell the place.
	name() string
}

// openPlace finds out what a person has named and checks that it is there.
func (w *World) openPlace(ctx context.Context, what, named string) (place, error) {
	info, err := os.Stat(named)
	switch {
	case err == nil && info.IsDir():
		p, err := openFolder(named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return p, nil
	case err == nil:
		return nil, &Error{
			Message: fmt.Sprintf("%s: %s is a file", what, named),
			Hint:    "name a folder or the URL of a git repository",
		}
	case !errors.Is(err, fs.ErrNotExist) && !strings.Contains(named, ":"):
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	a, ok := parseAddress(named)
	if !ok {
		return nil, noFolder(what, named)
	}
	switch a.scheme {
	case "http", "https":
		p := w.remote(named)
		if _, err := p.head(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return p, nil
	case "file":
		p, err := openFile(named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return p, nil
	}
	return nil, &Error{
		Message: fmt.Sprintf("%s: %s cannot be read: git is read over http, https and from folders, not over %s", what, redacted(named), a.scheme),
		Hint:    fmt.Sprintf("name %s, or a folder that you have cloned it to", a.https()),
	}
}

// noFolder is about a place that is neither a folder nor a URL.
func noFolder(what, named string) error {
	e := &Error{
		Message: fmt.Sprintf("%s: there is no folder %s", what, named),
		Hint:    "name a folder or the URL of a git repository",
		Err:     fs.ErrNotExist,
	}
	if host, _, ok := strings.Cut(filepath.ToSlash(named), "/"); ok && strings.Contains(strings.Trim(host, "."), ".") {
		e.Hint = fmt.Sprintf("did you mean https://%s?", named)
	}
	return e
}
