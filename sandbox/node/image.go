package node

import (
	"archive/tar"
	"bytes"
	"fmt"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image returns an archive, as `docker save` writes it, of an image that holds
// one static program, /NAME, and nothing else. `ctr images import` loads it
// under ref.
func Image(ref, program string, content []byte) ([]byte, error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	var layer, archive bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: program, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       v1.Config{Entrypoint: []string{"/" + program}, WorkingDir: "/"},
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	image, err = mutate.AppendLayers(image, static.NewLayer(layer.Bytes(), types.DockerUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	if err := tarball.Write(tag, image, &archive); err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	return archive.Bytes(), nil
}
