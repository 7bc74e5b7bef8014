// Package github has what Cosign names of GitHub's API to leave new keys there, which only
// its command line does.
package github

import (
	"context"
	"errors"
	"net/http"
)

type (
	// Client can nothing.
	Client struct{ Actions ActionsService }
	// ActionsService is the part of the API with secrets.
	ActionsService struct{}
	// PublicKey is what secrets are encrypted with.
	PublicKey struct{}
	// EncryptedSecret is a secret.
	EncryptedSecret struct{ Name, KeyID, EncryptedValue string }
	// Response is what GitHub answers.
	Response struct{ *http.Response }
)

var errNone = errors.New("this Flux is built without the client of GitHub's secrets")

// NewClient makes a client.
func NewClient(*http.Client) *Client { return &Client{} }

// WithEnterpriseURLs fails.
func (*Client) WithEnterpriseURLs(string, string) (*Client, error) { return nil, errNone }

func (*PublicKey) GetKey() string   { return "" }
func (*PublicKey) GetKeyID() string { return "" }

func (ActionsService) GetRepoPublicKey(context.Context, string, string) (*PublicKey, *Response, error) {
	return nil, nil, errNone
}

func (ActionsService) GetOrgPublicKey(context.Context, string) (*PublicKey, *Response, error) {
	return nil, nil, errNone
}

func (ActionsService) CreateOrUpdateRepoSecret(context.Context, string, string, *EncryptedSecret) (*Response, error) {
	return nil, errNone
}

func (ActionsService) CreateOrUpdateOrgSecret(context.Context, string, *EncryptedSecret) (*Response, error) {
	return nil, errNone
}
