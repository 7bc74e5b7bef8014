package actions

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// hashFiles is the digest of all files below root that match the patterns, ""
// when none does. A pattern with ! in front takes files out again.
func hashFiles(root string, patterns []string) (string, error) {
	var parsed []gitignore.Pattern
	for _, p := range patterns {
		for line := range strings.Lines(p) {
			line = strings.TrimSpace(line)
			out := strings.HasPrefix(line, "!")
			line = strings.TrimPrefix(strings.TrimPrefix(line, "!"), "./")
			if line == "" {
				continue
			}
			// from the root, as a path is; not anywhere, as in a .gitignore
			line = "/" + strings.TrimPrefix(line, "/")
			if out {
				line = "!" + line
			}
			parsed = append(parsed, gitignore.ParsePattern(line, nil))
		}
	}
	matcher := gitignore.NewMatcher(parsed)
	all := sha256.New()
	found := false
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || !matcher.Match(strings.Split(filepath.ToSlash(name), "/"), false) {
			return nil
		}
		sum, err := fileSum(path)
		if err != nil {
			return err
		}
		found = true
		all.Write(sum)
		return nil
	})
	if err != nil || !found {
		return "", err
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
