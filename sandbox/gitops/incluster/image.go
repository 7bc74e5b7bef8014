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
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
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
	layers  []filetree.Tree
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
	image, err := filetree.Image(architecture, b.config, b.layers...)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", b.name, err)
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

// nobody is the user and group of the images' programs, as in upstream's images.
const nobody = "65534:65534"

// linuxProgram returns which machines a program runs on. It must run on Linux
// and need no libraries, as all do that a kalypso for Linux has packed.
func linuxProgram(path string) (elf.Machine, error) {
	machine, loader, err := machineProgram(path)
	switch {
	case errors.As(err, new(*elf.FormatError)):
		return 0, fmt.Errorf("%s does not run on Linux, and pods do: use a kalypso that was built for Linux", path)
	case err == nil && loader != "":
		return 0, fmt.Errorf("%s needs libraries, which its image does not have: build it with CGO_ENABLED=0", path)
	}
	return machine, err
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
func trustLayer() filetree.Tree {
	t := filetree.Tree{}
	for _, file := range append([]string{os.Getenv("SSL_CERT_FILE")}, certificates...) {
		if t.Disk(certificateFile[1:], 0o644, file) == nil {
			break
		}
	}
	return t
}

// programLayer has one program of this machine.
func programLayer(path, from string) (filetree.Tree, error) {
	t := filetree.Tree{}
	return t, t.Disk(path, 0o755, from)
}
