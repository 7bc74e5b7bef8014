// Package incluster puts Flux and Argo CD into a cluster, in the shape in which
// their own projects install them, so that a user finds what is found in
// production: Deployments, Services and service accounts of the known names, in
// the known namespaces.
//
// What they run is no image from a registry. [Flux.Images] and [ArgoCD.Images]
// make images of the programs that this kalypso has packed, for the caller to
// load into the nodes; pods find them there and nowhere else, since their pull
// policy is Never.
//
// The forge listens on the loopback of the user's machine, and git URLs name it so:
// http://localhost:PORT/. To make that the forge in a pod, too, each pod that
// fetches from git has a sidecar that listens on the same port of the pod's
// loopback and passes connections on to the node's address, where a relay waits
// for them.
package incluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

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

// entry is one file of a layer. It is a copy of a file, or has its content
// here, or is a link, or else a folder.
type entry struct {
	path    string // from the root, without a slash in front
	from    string // file on this machine
	content string
	link    string // where it points to
	program bool   // may be run
	folder  bool
	owner   int
}

// layer is a tar archive of files, written each time it is asked for, so that a
// large program is never in memory. It is not compressed.
type layer struct {
	entries []entry

	once sync.Once
	hash v1.Hash
	size int64
	err  error
}

var _ v1.Layer = (*layer)(nil)

// newLayer returns a layer with the files and the folders that they are in.
// Order and repetition of the files make no difference.
func newLayer(files ...entry) *layer {
	all := map[string]entry{}
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = entry{path: dir, folder: true}
			}
		}
		all[f.path] = f
	}
	l := &layer{}
	for _, f := range all {
		l.entries = append(l.entries, f)
	}
	// a folder comes before what is in it
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return l
}

func (l *layer) write(w io.Writer) error {
	out := tar.NewWriter(w)
	for _, e := range l.entries {
		if err := e.write(out); err != nil {
			return fmt.Errorf("layer: %s: %w", e.path, err)
		}
	}
	return out.Close()
}

// write leaves out what is of this machine only: owners and times.
func (e entry) write(out *tar.Writer) error {
	h := &tar.Header{Name: e.path, Uid: e.owner, Gid: e.owner, Mode: 0o644, Format: tar.FormatPAX}
	if e.program || e.folder {
		h.Mode = 0o755
	}
	switch {
	case e.folder:
		h.Typeflag, h.Name = tar.TypeDir, e.path+"/"
		return out.WriteHeader(h)
	case e.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
		return out.WriteHeader(h)
	}
	var content io.Reader = strings.NewReader(e.content)
	h.Typeflag, h.Size = tar.TypeReg, int64(len(e.content))
	if e.from != "" {
		file, err := os.Open(e.from)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		content, h.Size = file, info.Size()
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(out, content)
	return err
}

func (l *layer) measure() error {
	l.once.Do(func() {
		digest, size := sha256.New(), &counter{}
		if l.err = l.write(io.MultiWriter(digest, size)); l.err == nil {
			l.hash, l.size = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(digest.Sum(nil))}, size.n
		}
	})
	return l.err
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// Digest is of the archive.
func (l *layer) Digest() (v1.Hash, error) {
	err := l.measure()
	return l.hash, err
}

// DiffID is the digest, as the archive is not compressed.
func (l *layer) DiffID() (v1.Hash, error) { return l.Digest() }

// Size is the archive's.
func (l *layer) Size() (int64, error) {
	err := l.measure()
	return l.size, err
}

func (l *layer) MediaType() (types.MediaType, error) { return types.DockerUncompressedLayer, nil }

// Compressed returns the archive as it is.
func (l *layer) Compressed() (io.ReadCloser, error) { return l.Uncompressed() }

// Uncompressed returns the archive. Its end is an error when it is not what was
// measured, because a file has changed since.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	want, err := l.Digest()
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		digest := sha256.New()
		err := l.write(io.MultiWriter(w, digest))
		if err == nil && !bytes.Equal(digest.Sum(nil), unhex(want.Hex)) {
			err = errors.New("layer: a file has changed while the image was made")
		}
		w.CloseWithError(err)
	}()
	return r, nil
}

func unhex(s string) []byte {
	b, _ := hex.DecodeString(s)
	return b
}

// nobody is the user and group of the images' programs, as in upstream's images.
const nobody = "65534:65534"

// linuxProgram returns which machines a program runs on. It must run on Linux
// and need no libraries, as all do that a kalypso for Linux has packed.
func linuxProgram(path string) (elf.Machine, error) {
	f, err := elf.Open(path)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return 0, fmt.Errorf("%s does not run on Linux, and pods do: use a kalypso that was built for Linux", path)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, fmt.Errorf("%s needs libraries, which its image does not have: build it with CGO_ENABLED=0", path)
		}
	}
	return f.Machine, nil
}

// certificates are where the systems keep the authorities that they trust.
var certificates = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// certificateFile is where a program in an image finds them.
const certificateFile = "/etc/ssl/certs/ca-certificates.crt"

// trustLayer has the authorities that this machine trusts, so that a source in
// a pod can be one that is reached by https. It is empty when there are none.
func trustLayer() *layer {
	for _, file := range append([]string{os.Getenv("SSL_CERT_FILE")}, certificates...) {
		if info, err := os.Stat(file); file != "" && err == nil && info.Mode().IsRegular() {
			return newLayer(entry{path: certificateFile[1:], from: file})
		}
	}
	return newLayer()
}
