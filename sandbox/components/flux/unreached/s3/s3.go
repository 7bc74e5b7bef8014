// Package s3 has what SOPS names of the client of Amazon's object store for what it
// publishes, which Flux does not do.
package s3

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type (
	// Client can nothing.
	Client struct{}
	// Options are those of a request.
	Options struct{}
	// PutObjectInput says what is uploaded.
	PutObjectInput struct {
		Body        io.Reader
		Bucket, Key *string
	}
	// PutObjectOutput describes what was uploaded.
	PutObjectOutput struct{}
)

// NewFromConfig makes a client.
func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

// PutObject fails.
func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, errors.New("this Flux is built without the client of Amazon S3")
}
