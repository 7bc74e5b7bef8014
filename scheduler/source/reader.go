package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// reader is the model.Reader of a Platform: it decides which location a reference
// means.
type reader struct {
	platform *Platform
	own      map[string]bool // identities of the control plane's addresses
}

// reader makes the reader for a control plane with the given environments.
func (p *Platform) reader(e *Environments) *reader {
	r := &reader{platform: p, own: map[string]bool{}}
	addresses := slices.Clone(p.remotes)
	switch at := p.control.(type) {
	case *remote:
		addresses = append(addresses, at.server.URL)
	case *repository:
		addresses = append(addresses, at.whole().named)
	}
	if _, elsewhere := p.control.(*remote); !elsewhere && len(p.remotes) == 0 {
		only := onlyRepository(e.Objects)
		p.allow(only...)
		addresses = append(addresses, only...)
	}
	for _, url := range addresses {
		r.own[Identity(url, p.control.name())] = true
	}
	return r
}

// onlyRepository returns the repository that all Environment objects name. A
// folder that knows no address of its own can only be that one.
func onlyRepository(objects []model.EnvironmentObject) []string {
	var urls []string
	for _, o := range objects {
		urls = append(urls, o.Spec.ControlPlane.Repo)
	}
	slices.Sort(urls)
	urls = slices.CompactFunc(urls, func(a, b string) bool { return Identity(a, "") == Identity(b, "") })
	if len(urls) > 1 {
		return nil
	}
	return urls
}

// isOwn reports whether a URL is one of the control plane.
func (r *reader) isOwn(url string) bool {
	a, ok := parseAddress(url)
	return ok && r.own[a.identity()]
}

// Read implements model.Reader.
func (r *reader) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	if at := r.platform.named(ref.Repo); at != nil {
		return at.read(ctx, ref.Branch, ref.Commit)
	}
	if r.isOwn(ref.Repo) {
		return r.readOwn(ctx, ref)
	}
	return r.platform.readURL(ctx, ref)
}

// readOwn reads the control plane by one of its addresses. References lead
// from the root of a repository, whatever folder of it was named.
func (r *reader) readOwn(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	at, ok := r.platform.control.(*repository)
	if !ok {
		return r.platform.control.read(ctx, ref.Branch, ref.Commit)
	}
	tree, err := at.whole().read(ctx, ref.Branch, ref.Commit)
	if !errors.Is(err, model.ErrNotFound) || len(r.platform.remotes) == 0 {
		return tree, err
	}
	missing := err
	tree, err = r.platform.readURL(ctx, ref)
	return tree, stillMissing(missing, err)
}

// stillMissing is the error of reading on the server what its clone has not
// got. The clone's error says "not found", which an error of the server puts
// in doubt.
func stillMissing(missing, err error) error {
	switch {
	case errors.Is(err, model.ErrNotFound):
		return missing
	case err != nil:
		return fmt.Errorf("%s, and on the server: %w", strings.TrimSuffix(missing.Error(), ": "+model.ErrNotFound.Error()), err)
	}
	return nil
}

// origin is the server that the control plane's folder was cloned from, nil
// when there is none that can be read.
func (p *Platform) origin() location {
	for _, url := range p.remotes {
		if at, err := p.address(url); err == nil {
			return at
		}
	}
	return nil
}

func (p *Platform) readURL(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	at, err := p.address(ref.Repo)
	if err != nil {
		return nil, err
	}
	return at.read(ctx, ref.Branch, ref.Commit)
}

// address returns the location at a URL of the model. What the scheduler could
// not read there is not there; files of this machine are, unless the model
// comes from another one.
func (p *Platform) address(url string) (location, error) {
	a, ok := parseAddress(url)
	_, elsewhere := p.control.(*remote)
	switch {
	case strings.Contains(url, model.Placeholder): // no server need be asked
	case ok && (a.scheme == "http" || a.scheme == "https"):
		return p.remote(url), nil
	case ok && a.scheme == "file" && !elsewhere:
		return openFile(url)
	}
	return nil, absent("repository %s", redact.URL(url))
}
