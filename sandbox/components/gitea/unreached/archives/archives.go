// Package archives has what Gitea names of the formats of `gitea dump`, which nothing here
// runs.
package archives

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// ArchiverAsync writes an archive.
type ArchiverAsync interface {
	ArchiveAsync(ctx context.Context, output io.Writer, jobs <-chan ArchiveAsyncJob) error
}

// ArchiveAsyncJob is a file for an archive.
type ArchiveAsyncJob struct {
	File   FileInfo
	Result chan<- error
}

// FileInfo describes a file.
type FileInfo struct {
	fs.FileInfo
	NameInArchive string
	Open          func() (fs.File, error)
}

type none struct{}

func (none) ArchiveAsync(context.Context, io.Writer, <-chan ArchiveAsyncJob) error {
	return errors.New("this Gitea is built without the archives of a dump")
}

type (
	// Zip is a format.
	Zip struct {
		none
		Compression uint16
	}
	// Tar is a format.
	Tar struct{ none }
	// CompressedArchive is a format.
	CompressedArchive struct {
		none
		Compression any
		Archival    any
	}
)

// What an archive is compressed with.
type (
	Sz     struct{}
	Gz     struct{}
	Xz     struct{}
	Bz2    struct{}
	Brotli struct{}
	Lz4    struct{}
	Zstd   struct{}
)
