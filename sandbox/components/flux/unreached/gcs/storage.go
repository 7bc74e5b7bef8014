// Package storage has what Flux names of the client of Google's object store.
// It makes no client: Buckets are not reconciled, and nothing is published.
package storage

import (
	"context"
	"errors"
	"io"

	"google.golang.org/api/option"
)

// ScopeReadOnly is what reading objects asks for.
const ScopeReadOnly = "https://www.googleapis.com/auth/devstorage.read_only"

// What a client tells of the store.
var (
	ErrBucketNotExist = errors.New("storage: bucket doesn't exist")
	ErrObjectNotExist = errors.New("storage: object doesn't exist")
)

type (
	// Client is never made.
	Client struct{}
	// BucketHandle is a bucket of a Client.
	BucketHandle struct{}
	// BucketAttrs describe a bucket.
	BucketAttrs struct{}
	// ObjectHandle is an object of a BucketHandle.
	ObjectHandle struct{}
	// ObjectAttrs describe an object.
	ObjectAttrs struct {
		Name, Etag string
		Generation int64
	}
	// Conditions are those of a request.
	Conditions struct{ GenerationMatch int64 }
	// Query selects objects.
	Query struct{ Prefix string }
	// ObjectIterator goes through objects.
	ObjectIterator struct{}
	// Reader reads an object.
	Reader struct{ io.ReadCloser }
	// Writer writes an object.
	Writer struct{ io.WriteCloser }
)

var errNone = errors.New("this Flux is built without the client of Google Cloud Storage")

// NewClient fails.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errNone }

func (*Client) Close() error                                          { return errNone }
func (*Client) Bucket(string) *BucketHandle                           { return &BucketHandle{} }
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error)     { return nil, errNone }
func (*BucketHandle) Object(string) *ObjectHandle                     { return &ObjectHandle{} }
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }
func (*ObjectIterator) Next() (*ObjectAttrs, error)                   { return nil, errNone }
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error)     { return nil, errNone }
func (h *ObjectHandle) If(Conditions) *ObjectHandle                   { return h }
func (*ObjectHandle) NewReader(context.Context) (*Reader, error)      { return nil, errNone }
func (*ObjectHandle) NewWriter(context.Context) *Writer               { return &Writer{} }
