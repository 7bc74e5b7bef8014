package recipe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// argoCDPages is what Argo CD's module has of the web pages. What they are
// built with comes from the component's folder ui: Argo CD's own list of
// packages names one that only GitHub has.
var argoCDPages = []string{"src", "babel.config.js"}

// buildPages builds Argo CD's web pages in site, which has the component's
// folder ui and the module's sources.
func buildPages(ctx context.Context, b Bench, site, version string) error {
	b.Log("fetch Node and the front end's packages")
	if err := run(ctx, site, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("npm is needed to build Argo CD's web pages: %w", err)
		}
		return err
	}
	// what Argo CD's sources use of a newer argo-ui than npm has
	if err := copyTree(filepath.Join(site, "argo-ui"), filepath.Join(site, "node_modules", "argo-ui")); err != nil {
		return err
	}
	node, err := findNode(site)
	if err != nil {
		return err
	}
	b.Log("bundle the front end")
	env := []string{
		"PATH=" + filepath.Dir(node) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"CI=true", "NODE_ENV=production", "ARGO_VERSION=" + version,
	}
	webpack := filepath.Join(site, "node_modules", "webpack", "bin", "webpack.js")
	return run(ctx, site, env, node, webpack, "--config", "webpack.config.js", "--mode", "production")
}

var scriptOfPage = regexp.MustCompile(`<script[^>]*\ssrc="([^"]+)"`)

// checkPages makes sure that the pages will work: without their script Argo CD
// starts, answers, and shows nothing.
func checkPages(dir string) error {
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		return fmt.Errorf("the front end's build made no start page: %w", err)
	}
	scripts := scriptOfPage.FindAllSubmatch(page, -1)
	if len(scripts) == 0 {
		return errors.New("the front end's start page has no script")
	}
	files := []string{filepath.Join("assets", "fonts.css")}
	for _, s := range scripts {
		files = append(files, filepath.FromSlash(string(s[1])))
	}
	for _, f := range files {
		// the server makes this one
		if f == "extensions.js" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			return fmt.Errorf("the front end's start page needs what its build did not make: %w", err)
		}
	}
	return nil
}
