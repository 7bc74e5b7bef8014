package source

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// scan collects the files of a working tree. It never leaves it: symbolic
// links are not followed, and os.Root holds that even against somebody who
// changes the tree meanwhile.
type scan struct {
	root    *os.Root
	tracked map[string]*index.Entry // by path from the top
	above   map[string]bool         // every folder with something tracked in it
	prefix  string
	all     *collection // by path from the prefix
}

// start scans the prefix. What the folders above it ignore is ignored in it
// too.
func (s *scan) start(patterns []gitignore.Pattern) error {
	if s.prefix == "" {
		return s.folder(".", patterns, false)
	}
	ignored, dir := false, "."
	for _, name := range strings.Split(s.prefix, "/") {
		var err error
		if patterns, err = s.ignores(dir, patterns); err != nil {
			return err
		}
		dir = path.Join(dir, name)
		ignored = ignored || gitignore.NewMatcher(patterns).Match(strings.Split(dir, "/"), true)
	}
	return s.folder(dir, patterns, ignored)
}

// folder scans one folder. In an ignored one only what git knows counts.
func (s *scan) folder(dir string, patterns []gitignore.Pattern, ignored bool) error {
	patterns, err := s.ignores(dir, patterns)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if err != nil {
		return err
	}
	matcher := gitignore.NewMatcher(patterns)
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		file := path.Join(dir, entry.Name())
		hidden := ignored || matcher.Match(strings.Split(file, "/"), entry.IsDir())
		switch {
		case entry.IsDir() && (!hidden || s.above[file]) && !s.isRepository(file):
			if err = s.all.pass(file); err == nil {
				err = s.folder(file, patterns, hidden)
			}
		case entry.Type().IsRegular() && (!hidden || s.tracked[file] != nil):
			err = s.all.addFrom(s.root, file, below(s.prefix, file), entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isRepository says whether a folder is a repository of its own, a submodule
// perhaps.
func (s *scan) isRepository(dir string) bool {
	_, err := s.root.Lstat(path.Join(dir, ".git"))
	return err == nil
}

// ignores adds what a folder's .gitignore says.
func (s *scan) ignores(dir string, patterns []gitignore.Pattern) ([]gitignore.Pattern, error) {
	file := path.Join(dir, ".gitignore")
	if info, err := s.root.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return patterns, nil
	}
	content, err := s.root.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var domain []string
	if dir != "." {
		domain = strings.Split(dir, "/")
	}
	return append(patterns[:len(patterns):len(patterns)], parseIgnores(content, domain)...), nil
}

func parseIgnores(content []byte, domain []string) []gitignore.Pattern {
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, domain))
		}
	}
	return patterns
}
