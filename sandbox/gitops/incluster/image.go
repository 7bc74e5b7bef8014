package incluster

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// registry is no registry: what is called by it can only have been loaded.
const registry = "kalypso.dev/"

// keyLen is how much of its digest an image shows in its tag.
const keyLen = 12

// Image is a container image that can be loaded into a node.
type Image struct {
	// Name has a tag that another content would not have, so that a node that
	// has the name has the image.
	Name string
	// Write writes the image as `docker save` does, which is what
	// `ctr images import` takes.
	Write func(w io.Writer) error
}

// blueprint is what an image is made of.
type blueprint struct {
	name    string // without registry and tag, e.g. flux
	version string // of what is in it, "" when only its content counts
	machine elf.Machine
	config  v1.Config
	layers  []*layer
}

// architectures are the names that images have for them.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// build makes the image. The same content has the same digest, whenever and
// wherever it is made.
func (b blueprint) build() (Image, error) {
	architecture, ok := architectures[b.machine]
	if !ok {
		return Image{}, fmt.Errorf("image %s: programs of the architecture %s are not known", b.name, b.machine)
	}
	// layers are not compressed: they go no further than a node of this machine
	image := mutate.MediaType(empty.Image, types.DockerManifestSchema2)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: architecture,
		OS:           "linux",
		Config:       b.config,
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", b.name, err)
	}
	for _, l := range b.layers {
		if image, err = mutate.Append(image, mutate.Addendum{Layer: l, MediaType: types.DockerUncompressedLayer}); err != nil {
			return Image{}, fmt.Errorf("image %s: %w", b.name, err)
		}
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", b.name, err)
	}
	digest := sha256.Sum256(config)
	tag := hex.EncodeToString(digest[:])[:keyLen]
	if b.version != "" {
		tag = b.version + "-" + tag
	}
	ref, err := name.NewTag(registry+b.name+":"+tag, name.StrictValidation)
	if err != nil {
		return Image{}, err
	}
	return Image{
		Name:  ref.Name(),
		Write: func(w io.Writer) error { return tarball.Write(ref, image, w) },
	}, nil
}
