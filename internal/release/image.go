package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user of the images, by the number that others use for it, too.
const nonroot = 65532

// An imageKind is what an image is run for. The program in all of them is
// kalypso-cli; there is no shell, and no other program.
type imageKind struct {
	name, title string
	command     []string
	ports       []string
}

// imageKinds are the images of a release. The chart runs the first one as the
// scheduler and as the hub.
var imageKinds = []imageKind{
	{name: "kalypso-server", title: "Kalypso's scheduler and hub", command: []string{"scheduler", "run", "--config", "/etc/kalypso/scheduler.yaml"}, ports: []string{"8765/tcp", "8780/tcp"}},
	{name: "kalypso-cli", title: "Kalypso's commands, without the sandbox", command: []string{"--help"}},
}

// images writes an archive for each kind of image: an OCI layout with an index of
// all architectures, as `ctr images import`, `skopeo copy` and `docker load` read it.
func (r *Release) images() error {
	roots, err := authorities()
	if err != nil {
		return err
	}
	for _, kind := range imageKinds {
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		count := 0
		for _, t := range r.Targets {
			if t.Name != cli || t.OS != "linux" {
				continue
			}
			image, err := r.image(kind, t, roots)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", kind.name, t.Platform(), err)
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.OS, Architecture: t.Arch}}})
			count++
		}
		if count == 0 {
			r.log("%s: no image, since kalypso-cli is not built for Linux", kind.name)
			continue
		}
		if err := r.writeLayout(kind, index); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return nil
}

// image is the image of one architecture.
func (r *Release) image(kind imageKind, t Target, roots []byte) (v1.Image, error) {
	licenses, err := licenseTexts(r.programs[t].inventory.Licenses)
	if err != nil {
		return nil, err
	}
	content := tree{
		{name: "etc", mode: fs.ModeDir | 0o755},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "nonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", nonroot, nonroot)},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "nonroot:x:%d:\n", nonroot)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots},
		{name: "home/nonroot", mode: fs.ModeDir | 0o700},
		{name: "kalypso", mode: 0o755, path: r.programs[t].path},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{name: "usr/share/doc/kalypso/THIRD-PARTY-LICENSES.txt", mode: 0o644, content: licenses},
	}
	layerFile := filepath.Join(r.work, t.String(), kind.name+"-layer.tar")
	f, err := os.Create(layerFile)
	if err != nil {
		return nil, err
	}
	if err := content.writeTar(f, r.time); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(layerFile, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "kalypso " + r.Version},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.OS, t.Arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nonroot, nonroot), Entrypoint: []string{"/kalypso"}, Cmd: kind.command, WorkingDir: "/home/nonroot",
		Env: []string{"PATH=/", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: map[string]string{
			"org.opencontainers.image.title": kind.title, "org.opencontainers.image.version": r.number(), "org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.source": repository, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	for _, port := range kind.ports {
		if config.Config.ExposedPorts == nil {
			config.Config.ExposedPorts = map[string]struct{}{}
		}
		config.Config.ExposedPorts[port] = struct{}{}
	}
	return mutate.ConfigFile(image, config)
}

// writeLayout writes an index and all below it as an OCI layout in a tar file.
func (r *Release) writeLayout(kind imageKind, index v1.ImageIndex) error {
	dir := filepath.Join(r.work, "image-"+kind.name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.number(),
		// by which containerd names what it imports
		"io.containerd.image.name": "ghcr.io/kalypso-dev/" + kind.name + ":" + r.number(),
	}))
	if err != nil {
		return err
	}
	var content tree
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		content = append(content, file{name: filepath.ToSlash(name), mode: 0o644, path: path})
		return err
	})
	if err != nil {
		return err
	}
	return r.create(fmt.Sprintf("%s-image_%s.tar", kind.name, r.number()), func(f *os.File) error { return content.writeTar(f, r.time) })
}

// authorities are the certificates by which the programs know servers: those of
// Mozilla as a Go module pins them, in PEM. One that is limited to what it has
// signed before some day is left out, since a file of certificates cannot say so.
func authorities() ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if all.Len() == 0 {
		return nil, errors.New("the module of certificates has none")
	}
	return all.Bytes(), nil
}
