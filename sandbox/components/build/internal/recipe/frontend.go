package recipe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// buildFrontend builds Gitea's web assets in site, a writable copy of its
// module. Node and pnpm come from the component's folder frontend, where a
// lock file pins them; npm is the one tool the machine must have.
func buildFrontend(ctx context.Context, b Bench, site string) error {
	tools := filepath.Join(b.Work, "tools")
	if err := copyTree(filepath.Join(b.Source, "frontend"), tools); err != nil {
		return err
	}
	b.Log("fetch Node and pnpm")
	if err := run(ctx, tools, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("npm is needed to build Gitea's front end: %w", err)
		}
		return err
	}
	node, err := findNode(tools)
	if err != nil {
		return err
	}
	// tools that start "node" by name must get the same one
	env := []string{"PATH=" + filepath.Dir(node) + string(os.PathListSeparator) + os.Getenv("PATH"), "CI=true", "NODE_ENV=production"}
	b.Log("fetch the front end's packages")
	pnpm := filepath.Join(tools, "node_modules", "pnpm", "bin", "pnpm.cjs")
	store := filepath.Join(b.Work, "store")
	if err := run(ctx, site, env, node, pnpm, "install", "--frozen-lockfile", "--prod", "--ignore-scripts", "--reporter=append-only", "--store-dir", store); err != nil {
		return err
	}
	b.Log("bundle the front end")
	vite := filepath.Join(site, "node_modules", "vite", "bin", "vite.js")
	return run(ctx, site, append(env, "ENABLE_SOURCEMAP=false"), node, vite, "build", "--logLevel", "warn")
}

// findNode returns the Node that npm fetched for this platform, or the
// machine's own where the registry has none.
func findNode(tools string) (string, error) {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node := filepath.Join(tools, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(node); err == nil {
		return node, nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node 22.18 or later is needed to build Gitea's front end: %w", err)
	}
	return node, nil
}

func run(ctx context.Context, dir string, env []string, args ...string) error {
	return command.Command{Dir: dir, Env: env, Args: args}.Run(ctx)
}
