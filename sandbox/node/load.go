package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Load puts the images of an archive (see [Image]; also what `docker save`
// writes) where the node's pods find them, under the names in it.
func (n Node) Load(ctx context.Context, archive string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(n.Programs(), "node"),
		"ctr", "--address", n.containerd(), "--namespace", "k8s.io", "images", "import", archive)
	cmd.Env = n.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load %s into the node of %s: %w\n%s", archive, n.Cluster, err, out)
	}
	return nil
}
