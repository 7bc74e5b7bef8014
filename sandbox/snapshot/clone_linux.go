package snapshot

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// cloneContent fills an empty file with another's content. Where the file
// system can, both share their blocks until one is written; elsewhere holes,
// which the log of etcd mostly consists of, stay holes.
func cloneContent(in, out *os.File) error {
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole is left
		}
		hole := size
		if err != nil {
			data = at // a file system without holes
		} else if end, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE); err == nil {
			hole = min(end, size)
		}
		if hole <= data {
			break
		}
		if err := copyRange(in, out, data, hole-data); err != nil {
			return err
		}
		at = hole
	}
	return out.Truncate(size)
}

func copyRange(in, out *os.File, at, length int64) error {
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if _, err := out.Seek(at, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(out, in, length)
	if errors.Is(err, io.EOF) {
		return nil // it has become shorter meanwhile
	}
	return err
}

// syncFolder returns when everything in the folder's file system is on disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
