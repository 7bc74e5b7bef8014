package recipe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
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
		Finish:   finishGitea,
	}
}

func finishGitea(ctx context.Context, b Bench) ([]components.License, error) {
	// it is linked from the standard library alone, so it adds no licence
	args := append([]string{"go", "build"}, buildFlags...)
	args = append(args, "-ldflags", linkFlags, "-o", filepath.Join(b.Out, "hook"), "./hook")
	if err := (command.Command{Dir: b.Source, Env: goEnv, Args: args}).Run(ctx); err != nil {
		return nil, err
	}
	return packStatic(ctx, b)
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

func packStatic(ctx context.Context, b Bench) ([]components.License, error) {
	m, err := findModule(ctx, b.Source, giteaModule)
	if err != nil {
		return nil, err
	}
	site := filepath.Join(b.Work, "site")
	for _, name := range append([]string{"options"}, frontendSources...) {
		if err := copyTree(filepath.Join(m.Dir, name), filepath.Join(site, name)); err != nil {
			return nil, err
		}
	}
	if err := buildFrontend(ctx, b, site); err != nil {
		return nil, err
	}
	public := filepath.Join(site, "public", "assets")
	if err := checkFrontend(public); err != nil {
		return nil, err
	}
	for _, name := range staticFolders {
		if err := moveStatic(filepath.Join(site, name), filepath.Join(b.Out, "static", name)); err != nil {
			return nil, err
		}
	}
	bundled, err := os.ReadFile(filepath.Join(b.Out, "static", "public", "assets", "licenses.txt"))
	if err != nil {
		return nil, err
	}
	licenses := license.ParseBundle(string(bundled))
	if len(licenses) == 0 {
		return nil, errors.New("no npm package is listed in the front end's licenses.txt")
	}
	return licenses, nil
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
