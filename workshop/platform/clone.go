package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// clone is a repository that is copied into the workshop, or could not be.
type clone struct {
	identity string
	urls     []string // as the model spells it, the first one first
	named    model.Position
	name     string
	git      git
	branches []string
	head     string          // the default branch
	used     map[string]bool // branches that the model reads
	err      error           // why it cannot be read
	copying  sync.Once

	from      string // what git has fetched from
	remote    git    // with the credentials for that
	deepening sync.Mutex
	whole     bool // it has its history, though a depth was asked for
}

// has reports whether a branch has been copied.
func (c *clone) has(branch string) bool { return slices.Contains(c.branches, branch) }

// collection copies repositories, each once, when something first names it.
type collection struct {
	options Options
	folder  string
	given   map[string]string // paths and bundles by identity
	hosts   map[string]bool   // that may be asked
	local   bool              // the control plane is on this machine, and may name others there

	order  []*clone // as they are named
	mu     sync.Mutex
	clones map[string]*clone
	trees  map[model.Reference]*model.Tree // that were read
}

func newCollection(o Options, folder string) *collection {
	c := &collection{options: o, folder: folder, given: map[string]string{}, hosts: map[string]bool{}, clones: map[string]*clone{}, trees: map[model.Reference]*model.Tree{}}
	for _, host := range o.AllowedHosts {
		c.hosts[strings.ToLower(host)] = true
	}
	c.options.Credentials = credentialsOf(o.ControlPlane, o.Credentials)
	return c
}

// credentialsOf are those in the URL of the control plane for all of its server, and
// else those of next, which may be nil.
func credentialsOf(controlPlane string, next func(string) (user, password string)) func(string) (user, password string) {
	of, err := url.Parse(controlPlane)
	if err != nil || of.User == nil {
		return next
	}
	password, given := of.User.Password()
	return func(address string) (string, string) {
		switch u, err := url.Parse(address); {
		case err == nil && given && u.Scheme == of.Scheme && u.Host == of.Host:
			return of.User.Username(), password
		case next != nil:
			return next(address)
		}
		return "", ""
	}
}

// give registers the clones of the caller by the addresses of their remotes, or by
// the one that is given with them, as in URL=PATH.
func (c *collection) give(ctx context.Context) error {
	for _, given := range c.options.Clones {
		address, dir, named := strings.Cut(given, "=")
		if !named || !strings.Contains(address, ":") {
			address, dir = "", given
		}
		if _, err := os.Stat(dir); err != nil {
			return usage.Errorf("--clone %s: %v", given, err)
		}
		addresses := []string{address}
		if address == "" {
			var err error
			if addresses, err = Remotes(ctx, dir); err != nil {
				return err
			}
		}
		if len(addresses) == 0 {
			return usage.Errorf("--clone %s: it has no remote, so that nothing says which repository it is: write --clone URL=%s", given, dir)
		}
		for _, address := range addresses {
			c.given[source.Identity(address, dir)] = dir
			c.allow(address)
		}
	}
	return nil
}

// allow lets the server of a URL be asked.
func (c *collection) allow(address string) {
	if host, _, ok := strings.Cut(source.Identity(address, "/"), "/"); ok && host != "file:" {
		c.hosts[host] = true
	}
}

// Remotes returns the addresses of a clone, those of origin first. A bundle has none,
// and what is no folder neither.
func Remotes(ctx context.Context, dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil
	}
	at, err := gitFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	list, err := git{dir: at}.line(ctx, "config", "--local", "--get-regexp", `^remote\..*\.url$`)
	if list == "" {
		return nil, nil // the exit code says the same
	}
	if err != nil {
		return nil, err
	}
	var urls []string
	for line := range strings.SplitSeq(list, "\n") {
		key, url, _ := strings.Cut(line, " ")
		if key == "remote.origin.url" {
			urls = append([]string{url}, urls...)
		} else {
			urls = append(urls, url)
		}
	}
	return urls, nil
}

// gitFolder returns where git keeps its own of a clone, whatever folder of it is
// named.
func gitFolder(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, candidate := range []string{filepath.Join(at, ".git"), at} {
			if _, err := os.Stat(candidate); err != nil {
				continue
			}
			if found, err := (git{dir: candidate}).line(ctx, "rev-parse", "--absolute-git-dir"); err == nil {
				return found, nil
			}
		}
		if filepath.Dir(at) == at {
			return "", &source.Error{Message: fmt.Sprintf("%s is no git repository", dir), Hint: "name a clone, a bundle, or the URL of a git repository"}
		}
	}
}

// get returns the repository at an address, copied. What it cannot read is in its
// err.
func (c *collection) get(ctx context.Context, address string) *clone {
	identity := source.Identity(address, "/")
	c.mu.Lock()
	one := c.clones[identity]
	if one == nil {
		one = &clone{identity: identity, name: c.nameOf(identity), used: map[string]bool{}}
		c.clones[identity] = one
	}
	c.mu.Unlock()
	one.copying.Do(func() { one.err = c.copy(ctx, one, address) })
	return one
}

// name is get for what an object of the model names, at a position. The workshop
// has repositories in the order of these calls.
func (c *collection) name(ctx context.Context, address, branch string, at model.Position) *clone {
	one := c.get(ctx, address)
	if !slices.Contains(c.order, one) {
		one.named = at
		c.order = append(c.order, one)
	}
	if clean := withoutUser(address); !slices.Contains(one.urls, clean) {
		one.urls = append(one.urls, clean)
	}
	if one.has(branch) {
		one.used[branch] = true
	}
	return one
}

// Read implements model.Reader. What cannot be copied is not there: then the model
// goes on without it, and says where it is named.
func (c *collection) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	one := c.get(ctx, ref.Repo)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if one.err != nil {
		return nil, fmt.Errorf("repository %s: %w", withoutUser(ref.Repo), model.ErrNotFound)
	}
	if ref.Commit != "" && c.options.Depth > 0 {
		if err := c.deepen(ctx, one, ref.Commit); err != nil {
			return nil, err
		}
	}
	key := model.Reference{Repo: one.identity, Branch: ref.Branch, Commit: ref.Commit}
	c.mu.Lock()
	tree := c.trees[key]
	c.mu.Unlock()
	if tree != nil {
		return tree, nil
	}
	tree, err := source.ReadRepository(ctx, one.git.dir, ref.Branch, ref.Commit)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trees[key] = tree
	return tree, nil
}

// deepen copies the history of a repository after all, where a commit is pinned that
// is older than the depth: the sandbox gets commits by branches.
func (c *collection) deepen(ctx context.Context, one *clone, commit string) error {
	one.deepening.Lock()
	defer one.deepening.Unlock()
	if _, err := one.git.run(ctx, nil, "cat-file", "-e", commit+"^{commit}"); err == nil {
		return nil
	}
	if shallow, err := one.git.line(ctx, "rev-parse", "--is-shallow-repository"); err != nil || shallow != "true" {
		return err
	}
	_, err := one.remote.run(ctx, nil, "fetch", "--progress", "--no-tags", "--unshallow", "--no-write-fetch-head", "--", one.from)
	if err == nil {
		one.whole = true
	}
	return err
}

// known returns the repositories that have been copied, in the order in which they
// were named.
func (c *collection) known() []*clone {
	return slices.DeleteFunc(slices.Clone(c.order), func(one *clone) bool { return one.err != nil })
}

// nameOf is what the sandbox's forge calls a repository.
func (c *collection) nameOf(identity string) string {
	for address, name := range c.options.Names {
		if source.Identity(address, "/") == identity {
			return name
		}
	}
	return path.Base(identity)
}

// copy brings a repository into the workshop's folder.
func (c *collection) copy(ctx context.Context, one *clone, address string) error {
	from, given := c.given[one.identity]
	if !given {
		if err := c.mayAsk(one.identity, address); err != nil {
			return err
		}
		from = address
	}
	// by identity, since two may have one name until that is reported
	one.git = git{dir: filepath.Join(c.folder, url.PathEscape(one.identity)+".git")}
	if c.options.Progress != nil {
		one.git.progress = func(line string) { c.options.Progress(one.name + ": " + line) }
	}
	return c.fetch(ctx, one, from)
}

// mayAsk is about what a platform model names, which somebody else may have
// written: servers of which nobody has said that they belong to the platform are
// not asked.
func (c *collection) mayAsk(identity, address string) error {
	host, _, _ := strings.Cut(identity, "/")
	switch {
	case strings.Contains(address, model.Placeholder):
		return fmt.Errorf("%s stands for an organisation", model.Placeholder)
	case host == "file:" && c.local:
		return nil
	case host == "file:":
		return errors.New("a control plane behind a URL names a folder of this machine")
	case !c.hosts[host]:
		return fmt.Errorf("server %s is not asked: --allow-host %s lets it, and --clone %s=PATH takes a clone", host, host, withoutUser(address))
	}
	return nil
}

// settle gives the copies their names. Two of one name are an error, and so is a
// name that a forge does not take.
func (c *collection) settle() error {
	byName := map[string]*clone{}
	for _, one := range c.known() {
		if err := checkRepositoryName(one); err != nil {
			return err
		}
		key := strings.ToLower(one.name)
		if other := byName[key]; other != nil {
			return &source.Error{
				Message: fmt.Sprintf("%s: %s has the name of %s (%s), and a sandbox has one organisation", one.named, one.urls[0], other.urls[0], other.named),
				Hint:    fmt.Sprintf("give one of them another name: --name %s=OTHER", one.urls[0]),
			}
		}
		byName[key] = one
	}
	for _, one := range c.known() {
		dir := filepath.Join(c.folder, one.name+".git")
		if err := os.Rename(one.git.dir, dir); err != nil {
			return err
		}
		one.git.dir = dir
	}
	left, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	for _, entry := range left { // what could not be copied whole
		if !slices.ContainsFunc(c.known(), func(one *clone) bool { return one.name+".git" == entry.Name() }) {
			if err := os.RemoveAll(filepath.Join(c.folder, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// withoutUser is an address without who asks, and without a password.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil || u.Host == "" || u.Scheme == "ssh" {
		return address
	}
	u.User = nil
	return u.String()
}
