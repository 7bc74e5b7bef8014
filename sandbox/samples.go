package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/images"
)

// pushImages puts the workshop's images into the forge's registry. One that is
// there stays as it is.
func (w *world) pushImages(ctx context.Context) error {
	login := images.Login{User: w.state.Admin.User, Password: w.state.Admin.Password}
	_, registry, _ := strings.Cut(w.state.OrgURL(), "://")
	for _, i := range w.workshop.images {
		program, err := os.ReadFile(filepath.Join(w.staged("samples")(), i.program))
		if err != nil {
			return err
		}
		if _, err := images.Push(ctx, registry+"/"+i.name, login, program); err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
	}
	return nil
}
