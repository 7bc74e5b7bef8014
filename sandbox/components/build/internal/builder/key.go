package builder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// format is raised when what all archives have in common changes.
const format = 1

// keyLen is how much of a key the names of files and messages show.
const keyLen = 12

// keyOf digests all that decides what is in a component's archive: the content
// of its folder, which pins every module and tool; the recipe; the Go
// toolchain and the platform.
func keyOf(ctx context.Context, dir string, r recipe.Recipe) (key, platform string, err error) {
	toolchain, platform, err := recipe.Toolchain(ctx, dir)
	if err != nil {
		return "", "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "format %d\ncomponent %q\n", format, r.Name)
	for _, line := range append(r.Inputs(), toolchain...) {
		fmt.Fprintf(h, "%q\n", line)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return digestFile(h, path, filepath.ToSlash(rel))
	})
	if err != nil {
		return "", "", err
	}
	return hex.EncodeToString(h.Sum(nil)), platform, nil
}

// digestFile writes the name, length and content of a file, in a form that no
// other files have.
func digestFile(w io.Writer, path, name string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "file %q %d\n", name, len(data))
	_, err = w.Write(data)
	return err
}
