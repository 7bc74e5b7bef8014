// Package gosources says which Go files a program is made of, so that no step
// takes a program for that of a folder whose Go files have changed since.
//
// The build of a program puts the fingerprint of its files beside it, in a
// file of the program's name and [Suffix]. The step that needs the program of a folder
// compares the fingerprint of that folder, and has the toolchain build it when
// the two differ.
//
// The fingerprint knows go.mod and Go files, and no other: whatever else ends up
// in a program is named by one of these. A changed file that go:embed takes in
// is the exception: programs that embed files must not be packed.
package gosources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Suffix ends the name of the file that has a packed program's fingerprint.
const Suffix = ".sources"

// Counts reports whether a file, by its path in the folder, decides what the
// folder's program is: go.mod and all Go files do, but for tests.
func Counts(name string) bool {
	return name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// Fingerprint is that of a folder's files, by slash-separated path. Files that
// do not count may be among them.
func Fingerprint(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if Counts(name) {
			fmt.Fprintf(h, "%q %d\n%s\n", name, len(files[name]), files[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// OfFolder is the fingerprint of a folder on disk. Links are not followed, but
// a Go file that is one makes the fingerprint another: the toolchain would
// follow it.
func OfFolder(folder string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	files := map[string][]byte{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir() || !Counts(name):
			return nil
		case !entry.Type().IsRegular():
			files[name] = []byte(entry.Type().String())
			return nil
		}
		files[name], err = root.ReadFile(name)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the Go files: %w", err)
	}
	return Fingerprint(files), nil
}
