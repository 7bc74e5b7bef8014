package recipe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
)

const giteaModule = "code.gitea.io/gitea"

// Gitea is the Gitea server, the program hook that git calls in its
// repositories, and in the folder static what STATIC_ROOT_PATH names:
// templates, options and web assets.
func Gitea() Recipe {
	return Recipe{
		Name:     "gitea",
		Revision: 1,
		Lists:    []string{fmt.Sprint(frontendSources, staticFolders)},
		Versions: map[string]string{"Gitea": giteaModule},
		Begin:    beginGitea,
		Finish:   finishGitea,
	}
}

func finishGitea(ctx context.Context, b Bench) ([]components.License, error) {
	// it is linked from the standard library alone, so it adds no licence
	if err := (Compilation{Dir: b.Source, Env: goEnv, Flags: programFlags, Package: "./hook", Out: filepath.Join(b.Out, "hook"), Component: b.Component, Track: b.Track}).Run(ctx); err != nil {
		return nil, err
	}
	for _, name := range staticFolders {
		if err := moveStatic(filepath.Join(giteaSite(b), name), filepath.Join(b.Out, "static", name)); err != nil {
			return nil, err
		}
	}
	return license.OfBundle(filepath.Join(b.Out, "static", "public", "assets", "licenses.txt"))
}

// frontendSources is all of Gitea's module that the web assets are made of;
// staticFolders is what the server reads.
var (
	frontendSources = []string{
		"package.json", "pnpm-lock.yaml", ".npmrc", "vite.config.ts", "tailwind.config.ts", "tsconfig.json", "types.d.ts",
		"assets", "public", "web_src", "templates",
	}
	staticFolders = []string{"templates", "options", "public"}
)

// giteaSite is where the web assets are built.
func giteaSite(b Bench) string { return filepath.Join(b.Work, "site") }

// beginGitea builds the web assets, of which nothing is linked in: it waits for the network
// and has one core, so it had better run while others are compiled.
func beginGitea(ctx context.Context, b Bench) (map[string]string, error) {
	m, err := findModule(ctx, b.Source, giteaModule)
	if err != nil {
		return nil, err
	}
	site := giteaSite(b)
	for _, name := range append([]string{"options"}, frontendSources...) {
		if err := copyTree(filepath.Join(m.Dir, name), filepath.Join(site, name)); err != nil {
			return nil, err
		}
	}
	if err := buildFrontend(ctx, b, site); err != nil {
		return nil, err
	}
	return nil, checkFrontend(filepath.Join(site, "public", "assets"))
}

// checkFrontend makes sure that the pages will work: without its script and
// style sheet Gitea starts, answers, and cannot be used.
func checkFrontend(assets string) error {
	for _, pattern := range []string{"js/index.*.js", "js/iife.*.js", "css/index.*.css", "css/theme-gitea-auto.*.css", ".vite/manifest.json"} {
		found, err := filepath.Glob(filepath.Join(assets, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("the front end's build made no %s", pattern)
		}
	}
	return nil
}

// moveStatic moves a folder without source maps and without all locales but
// the English one.
func moveStatic(from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		foreign := strings.HasPrefix(rel, "locale/") && rel != "locale/locale_en-US.json"
		if foreign || strings.HasSuffix(rel, ".map") {
			return os.Remove(path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// copyTree copies a file or folder out of the module cache, which is read
// only, into one that can be written.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// buildFrontend builds Gitea's web assets in site, a writable copy of its
// module. Node and pnpm come from the component's folder frontend, where a
// lock file pins them; npm is the one tool the machine must have.
func buildFrontend(ctx context.Context, b Bench, site string) error {
	tools := filepath.Join(b.Work, "tools")
	if err := copyTree(filepath.Join(b.Source, "frontend"), tools); err != nil {
		return err
	}
	b.Doing("fetch Node and pnpm")
	node, env, err := fetchNode(ctx, tools)
	if err != nil {
		return err
	}
	b.Doing("fetch the front end's packages")
	pnpm := filepath.Join(tools, "node_modules", "pnpm", "bin", "pnpm.cjs")
	store := filepath.Join(b.Work, "store")
	if err := run(ctx, site, env, node, pnpm, "install", "--frozen-lockfile", "--prod", "--ignore-scripts", "--reporter=append-only", "--store-dir", store); err != nil {
		return err
	}
	b.Doing("bundle the front end")
	vite := filepath.Join(site, "node_modules", "vite", "bin", "vite.js")
	defer b.Track.Finish(progress.Pages(b.Component))
	return run(ctx, site, append(env, "ENABLE_SOURCEMAP=false"), node, vite, "build", "--logLevel", "warn")
}

// fetchNode installs the packages that the lock file in a folder pins, Node
// among them, and returns Node and the environment to run it in.
func fetchNode(ctx context.Context, dir string) (node string, env []string, err error) {
	if err := run(ctx, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", nil, fmt.Errorf("npm is needed to build the front ends of Gitea, Argo CD and the hub: %w", err)
		}
		return "", nil, err
	}
	if node, err = findNode(dir); err != nil {
		return "", nil, err
	}
	// tools that start "node" by name must get the same one
	path := "PATH=" + filepath.Dir(node) + string(os.PathListSeparator) + os.Getenv("PATH")
	return node, []string{path, "CI=true", "NODE_ENV=production"}, nil
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
		return "", fmt.Errorf("node 22.18 or later is needed to build the front ends of Gitea, Argo CD and the hub: %w", err)
	}
	return node, nil
}

func run(ctx context.Context, dir string, env []string, args ...string) error {
	return command.Command{Dir: dir, Env: env, Args: args}.Run(ctx)
}
