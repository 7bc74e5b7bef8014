// Package brotli has what the client of Meilisearch names of the format. Gitea's issues are
// searched in its database.
package brotli

import (
	"errors"
	"io"
)

var errNone = errors.New("this Gitea is built without Brotli")

// Writer writes nothing.
type Writer struct{}

// NewWriterLevel makes a writer.
func NewWriterLevel(io.Writer, int) *Writer { return &Writer{} }

func (*Writer) Reset(io.Writer)           {}
func (*Writer) Write([]byte) (int, error) { return 0, errNone }
func (*Writer) Close() error              { return errNone }

// Reader reads nothing.
type Reader struct{}

// NewReader makes a reader.
func NewReader(io.Reader) *Reader { return &Reader{} }

func (*Reader) Read([]byte) (int, error) { return 0, errNone }
