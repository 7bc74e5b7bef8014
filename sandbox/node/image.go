package node

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// Image returns an archive, as `docker save` writes it, of an image that holds
// one static program, /NAME, and nothing else. `ctr images import` loads it
// under ref.
func Image(ref, program string, content []byte) ([]byte, error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return nil, err
	}
	files := filetree.Tree{}
	files.File(program, 0o755, content)
	image, err := filetree.Image(runtime.GOARCH, v1.Config{Entrypoint: []string{"/" + program}, WorkingDir: "/"}, files)
	var archive bytes.Buffer
	if err == nil {
		err = tarball.Write(tag, image, &archive)
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	return archive.Bytes(), nil
}
