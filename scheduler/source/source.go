// Package source finds what the commands for users work on: a control plane,
// and the repositories that it names, in folders, behind git URLs, or both
// mixed. It only reads.
//
// A [Platform] is opened on a control plane, and everything else follows from
// what that says:
//
//	p, err := source.Open(ctx, source.Options{ControlPlane: "."})
//	env, err := p.Load(ctx, "dev")
//	gitops, err := p.GitOps(ctx, env)
//	at, err := plan.New(ctx, env, gitops)
//
// A folder in a git repository has branches like any clone, with one
// difference: the branch that is checked out is what the working tree holds,
// uncommitted and untracked files included, so that users see what a change
// does before they commit it. Everything else is read from git's objects, the
// local branch before the one last fetched from origin. A folder without git
// is the content of every branch.
//
// The platform model names repositories by URL. Where such a URL is a remote
// of the control plane's folder, the folder is read; what the folder has not
// got, a clone of one branch perhaps, is read from the server.
//
// The trap is a branch that is not checked out: files of the working tree do
// not belong to it. A user on branch feature who plans an environment on
// branch dev sees dev; [Options.Branch] set to "feature", or to "HEAD" for
// whatever is checked out, shows the feature as that environment.
package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Options are where everything is read from. Each location is a folder or a git
// URL. What is not given is read where the platform model says it is.
//
// A folder given as Base or in Workloads is taken as it is, whatever branch is
// checked out in it and whatever commit the model pins: its content is what
// a user wants to see the effect of. A URL there is read at the model's
// branch, and a pinned commit is honoured. GitOps has a branch for each
// environment, so it is read by branch in both cases.
//
// Branch names the one with the Environment objects. One that has none is read
// as the branch of whatever environment is asked for.
type Options struct {
	ControlPlane string            // required
	Branch       string            // "" is the repository's default, "HEAD" what is checked out
	Base         string            // in place of the repository that the BaseRepo named main names
	Workloads    map[string]string // by registration, in place of the workload's repository
	GitOps       string            // in place of the repository that the GitOpsRepo names
	// AllowedHosts are the servers that are asked besides those of the locations, as
	// in git.example.com or git.example.com:8443: those of the control plane's remotes
	// are, or where its folder has none, that of its Environment objects.
	AllowedHosts []string
	// Credentials returns user and password for a URL, both "" for none.
	Credentials func(url string) (user, password string)
	// Addresses are replaced in what is read from servers, see gitclient.Addresses.
	Addresses *addresses.Replacer
	// Note gets what users should know about where things are read, each
	// note once. It may be nil.
	Note func(note string)
}

// Platform is a control plane with everything around it. It may be used by
// several goroutines.
type Platform struct {
	options   Options
	client    *gitclient.Client
	control   location
	remotes   []string // URLs of the control plane's folder
	branch    string   // with the Environment objects
	base      location // nil when it is not given
	gitOps    location // nil when it is not given
	workloads map[string]location

	reading sync.Mutex
	found   *Environments // nil before they were read

	mu    sync.Mutex
	given map[string]location // locations by name: all of these, and more as they are needed
	notes map[string]bool
}

// Open looks at the control plane and checks that all locations are there.
func Open(ctx context.Context, o Options) (*Platform, error) {
	p := &Platform{
		options:   o,
		client:    gitclient.New(&http.Client{}, cacheBytes),
		workloads: map[string]location{},
		given:     map[string]location{},
		notes:     map[string]bool{},
	}
	var err error
	p.client.Addresses = o.Addresses
	if p.client.Hosts, err = gitclient.NewHosts(o.AllowedHosts...); err != nil {
		return nil, &Error{Message: err.Error(), Err: err}
	}
	open := func(what, named string) (location, error) {
		p.allow(named)
		at, err := p.openLocation(ctx, what, named)
		if err == nil {
			p.name(at)
		}
		return at, err
	}
	if p.control, err = open("control plane", o.ControlPlane); err != nil {
		return nil, err
	}
	if r, ok := p.control.(*repository); ok {
		if p.remotes, err = r.remotes(ctx); err != nil {
			return nil, fmt.Errorf("control plane: %w", err)
		}
		p.allow(p.remotes...)
	}
	if o.Base != "" {
		if p.base, err = open("base repository", o.Base); err != nil {
			return nil, err
		}
	}
	if o.GitOps != "" {
		if p.gitOps, err = open("GitOps repository", o.GitOps); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Workloads)) {
		if p.workloads[name], err = open("workload "+name, o.Workloads[name]); err != nil {
			return nil, err
		}
	}
	if p.branch = o.Branch; p.branch == "" {
		if p.branch, err = p.control.defaultBranch(ctx); err != nil {
			return nil, fmt.Errorf("control plane: %w", err)
		}
	}
	return p, nil
}

// allow lets the servers of git URLs be asked; ssh's stand for https.
func (p *Platform) allow(urls ...string) {
	for _, url := range urls {
		if a, ok := parseAddress(url); ok && a.host != "" && a.scheme != "file" {
			if a.scheme == "ssh" {
				url = a.https()
			}
			_ = p.client.Hosts.Allow(url) // what is no host is not asked
		}
	}
}

// Load reads one environment's platform model. An unknown environment is an
// error that names those there are, and so is an unknown name in
// Options.Workloads.
func (p *Platform) Load(ctx context.Context, environment string) (*model.Environment, error) {
	e, err := p.Environments(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := p.find(ctx, environment, e)
	if err != nil {
		return nil, err
	}
	l, err := p.load(ctx, environment, ref, e)
	if err != nil {
		return nil, err
	}
	if err := p.checkBase(l); err != nil {
		return nil, err
	}
	if err := p.checkWorkloads(ctx, l, e); err != nil {
		return nil, err
	}
	if err := p.notice(ctx, l, e); err != nil {
		return nil, err
	}
	return l.env, nil
}

// GitOps reads the present content of an environment's GitOps branch; nil when
// there is none yet.
func (p *Platform) GitOps(ctx context.Context, env *model.Environment) (*model.Tree, error) {
	if env.GitOps.Repo == "" {
		return nil, nil
	}
	var tree *model.Tree
	var err error
	if p.gitOps != nil {
		tree, err = p.gitOps.read(ctx, env.GitOps.Branch, "")
	} else {
		tree, err = p.Read(ctx, env.GitOps)
	}
	if errors.Is(err, model.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the GitOps branch of environment %s: %w", env.Name, err)
	}
	return tree, nil
}

// Read implements model.Reader. It reads a reference where Load has read it:
// those of an environment's Sources, above all.
func (p *Platform) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	e, err := p.Environments(ctx)
	if err != nil {
		return nil, err
	}
	return p.reader(e).Read(ctx, ref)
}

// name makes a location known to readers by its name.
func (p *Platform) name(at location) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given[at.name()] = at
}

// named returns the location of a name, nil when it is none.
func (p *Platform) named(name string) location {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.given[name]
}

// String names the branch that the Environment objects are read from.
func (p *Platform) String() string {
	if _, plain := p.control.(folder); plain {
		return p.control.name()
	}
	return fmt.Sprintf("branch %s of %s", p.branch, p.control.name())
}

func (p *Platform) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.options.Note != nil && !p.notes[text] {
		p.options.Note(text)
	}
	p.notes[text] = true
}

// Remotes returns the URLs that the control plane's folder knows as its own.
func (p *Platform) Remotes() []string { return slices.Clone(p.remotes) }

// Error is something that a user can put right, with how.
type Error struct {
	Message string
	Hint    string
	Err     error // what it wraps, may be nil
	Unknown bool  // a name was asked for that does not exist, where all could be read
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what the error wraps.
func (e *Error) Unwrap() error { return e.Err }

// ErrCredentials is wrapped by errors about a server that asks for other
// credentials than it got, or for any.
var ErrCredentials = errors.New("credentials needed")

// absent words that something is not there in the way a model.Reader must.
func absent(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, model.ErrNotFound)...)
}
