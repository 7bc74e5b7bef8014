package source

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// excludes returns what git ignores in this repository for this person alone:
// core.excludesFile, then info/exclude. One that cannot be read excludes
// nothing, so that at worst a file too many is looked at.
func (r *repository) excludes() []gitignore.Pattern {
	var patterns []gitignore.Pattern
	if file := r.excludesFile(); file != "" {
		if content, err := os.ReadFile(file); err == nil {
			patterns = append(patterns, parseIgnores(content, nil)...)
		}
	}
	file, err := r.git.files.Open("info/exclude")
	if err != nil {
		return patterns
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return patterns
	}
	return append(patterns, parseIgnores(content, nil)...)
}

// excludesFile is where core.excludesFile points, or where git looks without
// it.
func (r *repository) excludesFile() string {
	for _, scope := range []config.Scope{config.LocalScope, config.GlobalScope, config.SystemScope} {
		var c *config.Config
		var err error
		if scope == config.LocalScope {
			c, err = r.git.repo.Config()
		} else {
			c, err = config.LoadConfig(scope)
		}
		if err != nil || c.Raw == nil {
			continue
		}
		if file := c.Raw.Section("core").Option("excludesFile"); file != "" {
			return expand(file)
		}
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	return expand("~/.config/git/ignore")
}

// expand puts the home folder in the place of a leading "~".
func expand(file string) string {
	rest, ok := strings.CutPrefix(file, "~/")
	if !ok {
		return file
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(rest))
}
