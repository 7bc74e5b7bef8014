package ci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// registry is the one that images go to, as the account of the token.
type registry struct {
	host, user, token string
	insecure          bool // the forge itself is spoken to without TLS
}

// reference reads an image's name. A registry on this machine, or one whose
// forge is reached by plain http, is spoken to in the same way.
func (r registry) reference(image string) (name.Reference, error) {
	var options []name.Option
	if r.insecure {
		options = append(options, name.Insecure)
	}
	return name.ParseReference(image, options...)
}

// options are those for one image. The token goes to the forge's own registry
// only: a Dockerfile can name any other as its base.
func (r registry) options(ctx context.Context, ref name.Reference) []remote.Option {
	options := []remote.Option{remote.WithContext(ctx)}
	host := ref.Context().RegistryStr()
	if host == r.host && r.token != "" {
		user := r.user
		if user == "" {
			user = "kalypso"
		}
		options = append(options, remote.WithAuth(&authn.Basic{Username: user, Password: r.token}))
	}
	if loopback(host) { // whatever proxy the runner has, it is not between us
		direct := http.DefaultTransport.(*http.Transport).Clone()
		direct.Proxy = nil
		options = append(options, remote.WithTransport(direct))
	}
	return options
}

func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// base gets the image that a Dockerfile begins with.
func (r registry) base(ctx context.Context, from, architecture string) (v1.Image, error) {
	if from == scratch {
		return empty.Image, nil
	}
	var options []name.Option
	if r.insecure && len(from) > len(r.host) && from[:len(r.host)+1] == r.host+"/" {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(from, options...)
	if err != nil {
		return nil, fmt.Errorf("base image: %w", err)
	}
	image, err := remote.Image(ref, append(r.options(ctx, ref), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))...)
	if err != nil {
		return nil, withHint(refused(fmt.Errorf("base image %s: %w", from, err)),
			"where its registry is out of reach, name another image for it with --base %s=IMAGE", from)
	}
	return image, nil
}

// digest is that of the image of a name and tag, "" when there is none.
func (r registry) digest(ctx context.Context, ref name.Reference) (string, error) {
	found, err := remote.Head(ref, r.options(ctx, ref)...)
	var e *transport.Error
	switch {
	case err == nil:
		return found.Digest.String(), nil
	case errors.As(err, &e) && e.StatusCode == http.StatusNotFound:
		return "", nil
	}
	return "", refused(fmt.Errorf("find image %s: %w", ref, err))
}

// push puts an image into the registry, in place of one of the same tag.
func (r registry) push(ctx context.Context, ref name.Reference, image v1.Image) error {
	if err := remote.Write(ref, image, r.options(ctx, ref)...); err != nil {
		return refused(fmt.Errorf("push image %s: %w", ref, err))
	}
	return nil
}

// refused marks an error of a registry that does not take the token.
func refused(err error) error {
	var e *transport.Error
	if errors.As(err, &e) && (e.StatusCode == http.StatusUnauthorized || e.StatusCode == http.StatusForbidden) {
		return &denied{err}
	}
	return err
}
