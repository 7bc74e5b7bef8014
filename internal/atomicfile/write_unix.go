//go:build !windows

// Package atomicfile writes files that are whole at every moment: a reader, also one
// after a crash, finds the old content or the new one.
package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kalypso-dev/kalypso/internal/posix"
)

// Write makes a file have this content. It is written beside its place first. A file that
// is there keeps its permissions, a new one gets these, whatever the umask is.
func Write(path string, content []byte, perm fs.FileMode) error {
	return renameio.WriteFile(path, content, perm, renameio.WithStaticPermissions(perm), renameio.WithTempDir(filepath.Dir(path)))
}

// Rewrite is [Write] for a file that is there, and keeps its owner, too.
func Rewrite(path string, content []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(info.Mode().Perm()))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // of what was not put in its place
	fresh, err := f.Stat()
	if err != nil {
		return err
	}
	uid, gid, _ := posix.Owner(info)
	if newUID, newGID, _ := posix.Owner(fresh); uid != newUID || gid != newGID {
		if err := f.Chown(uid, gid); err != nil {
			return fmt.Errorf("%s belongs to user %d and group %d, and could not go on doing so: change it as that user: %w", path, uid, gid, err)
		}
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
