package components

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Prune removes the staged folders below dir that belong to a component of
// this payload in another version. It touches nothing else in dir. Call it when
// no program runs from those folders any more.
func (p *Payload) Prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	var failed []error
	for _, e := range entries {
		name, digest, ok := strings.Cut(e.Name(), "-")
		c, known := p.manifest.Component(name)
		if !ok || !known || !e.IsDir() || len(digest) != digestLen || strings.Trim(digest, "0123456789abcdef") != "" {
			continue
		}
		if e.Name() != c.Folder() {
			failed = append(failed, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	return nil
}
