// Package images makes container images of single static programs and puts
// them into a registry, without a container engine.
//
// An image depends on its program alone: files and configuration have fixed
// times, so the same program always has the same digest, wherever it is made.
package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// user is nobody in particular; policies that refuse root let it run.
const user = "65532:65532"

// Login is an account of a registry.
type Login struct{ User, Password string }

// Push makes an image of a static Linux program and puts it at ref, as in
// localhost:3000/group/name:1.0, unless there is one already: what a person has
// put there stays. It tells whether it has pushed. A registry on this machine
// is spoken to by plain http, without a proxy.
func Push(ctx context.Context, ref string, l Login, program []byte) (bool, error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return false, err
	}
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil
	defer direct.CloseIdleConnections()
	options := []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(direct),
		remote.WithAuth(&authn.Basic{Username: l.User, Password: l.Password}),
	}
	_, err = remote.Head(tag, options...)
	if err == nil {
		return false, nil
	}
	if !missing(err) {
		return false, fmt.Errorf("look for image %s: %w", tag, err)
	}
	image, err := Image(program)
	if err != nil {
		return false, fmt.Errorf("make image %s: %w", tag, err)
	}
	if err := remote.Write(tag, image, options...); err != nil {
		return false, fmt.Errorf("push image %s: %w", tag, err)
	}
	return true, nil
}

func missing(err error) bool {
	var e *transport.Error
	return errors.As(err, &e) && e.StatusCode == http.StatusNotFound
}

// path is where the program lies in its image.
const path = "/app"

// Image is an image that holds a static Linux program, its entry point, and
// nothing else.
func Image(program []byte) (v1.Image, error) {
	files, err := archive(program)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config = v1.Config{Entrypoint: []string{path}, User: user, WorkingDir: "/"}
	return mutate.ConfigFile(image, file)
}

func archive(program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: path[1:], Mode: 0o755, Size: int64(len(program)), ModTime: time.Unix(0, 0).UTC()}
	if err := w.WriteHeader(h); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
