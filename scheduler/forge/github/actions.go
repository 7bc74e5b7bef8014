package github

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	sdk "github.com/google/go-github/v88/github"
	"golang.org/x/crypto/nacl/box"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// What follows is what workflows find: variables, secrets, environments. In an
// environment parameter "" stands for the repository itself.

// SetVariable makes a workflow variable or changes it.
func (f *Forge) SetVariable(ctx context.Context, repo, environment, name, value string) error {
	base, err := actionsPath(repo, environment, "variables")
	if err != nil {
		return err
	}
	body := map[string]string{"name": name, "value": value}
	err = f.send(ctx, http.MethodPatch, base+"/"+url.PathEscape(name), body, nil)
	if errors.Is(err, forge.ErrNotFound) {
		err = f.send(ctx, http.MethodPost, base, body, nil)
	}
	if err != nil {
		return fmt.Errorf("variable %s of %s: %w", name, place(repo, environment), err)
	}
	return nil
}

// SetSecret makes a workflow secret or changes it. It is sealed for the
// repository before it is sent, and no error holds it.
func (f *Forge) SetSecret(ctx context.Context, repo, environment, name, value string) error {
	base, err := actionsPath(repo, environment, "secrets")
	if err != nil {
		return err
	}
	var key sdk.PublicKey
	if err := f.send(ctx, http.MethodGet, base+"/public-key", nil, &key); err != nil {
		return fmt.Errorf("public key for the secrets of %s: %w", place(repo, environment), err)
	}
	sealed, err := seal(key.GetKey(), value)
	if err == nil {
		err = f.send(ctx, http.MethodPut, base+"/"+url.PathEscape(name), map[string]string{"encrypted_value": sealed, "key_id": key.GetKeyID()}, nil)
	}
	if err != nil {
		return fmt.Errorf("secret %s of %s: %w", name, place(repo, environment), err)
	}
	return nil
}

// seal encrypts a value so that only the owner of a public key can read it
// (docs.github.com/rest/guides/encrypting-secrets-for-the-rest-api).
func seal(publicKey, value string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(publicKey)
	if err != nil || len(raw) != 32 {
		return "", errors.New("GitHub's public key is not one")
	}
	sealed, err := box.SealAnonymous(nil, []byte(value), (*[32]byte)(raw), rand.Reader)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// CreateEnvironment makes a deployment environment; one that is there is left
// as it is.
func (f *Forge) CreateEnvironment(ctx context.Context, repo, environment string) error {
	at, err := environmentPath(repo, environment)
	if err != nil {
		return err
	}
	err = f.send(ctx, http.MethodGet, at, nil, nil)
	if errors.Is(err, forge.ErrNotFound) {
		err = f.send(ctx, http.MethodPut, at, nil, nil)
	}
	if err != nil {
		return fmt.Errorf("environment %s of %s: %w", environment, repo, err)
	}
	return nil
}

// DeleteEnvironment removes a deployment environment with its secrets and
// variables; a missing one is no error.
func (f *Forge) DeleteEnvironment(ctx context.Context, repo, environment string) error {
	at, err := environmentPath(repo, environment)
	if err != nil {
		return err
	}
	return f.remove(ctx, at, "environment "+environment, repo)
}

// DeleteSecret removes a workflow secret; a missing one is no error.
func (f *Forge) DeleteSecret(ctx context.Context, repo, environment, name string) error {
	base, err := actionsPath(repo, environment, "secrets")
	if err != nil {
		return err
	}
	return f.remove(ctx, base+"/"+url.PathEscape(name), "secret "+name, place(repo, environment))
}

// DeleteVariable removes a workflow variable; a missing one is no error.
func (f *Forge) DeleteVariable(ctx context.Context, repo, environment, name string) error {
	base, err := actionsPath(repo, environment, "variables")
	if err != nil {
		return err
	}
	return f.remove(ctx, base+"/"+url.PathEscape(name), "variable "+name, place(repo, environment))
}

func (f *Forge) remove(ctx context.Context, at, what, where string) error {
	if err := f.send(ctx, http.MethodDelete, at, nil, nil); err != nil && !errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("deleting %s of %s: %w", what, where, err)
	}
	return nil
}

// send makes a request where the SDK speaks to an address that GitHub does not
// document any more.
func (f *Forge) send(ctx context.Context, method, at string, body, answer any) error {
	return f.call(ctx, func() (*sdk.Response, error) {
		q, err := f.client.NewRequest(ctx, method, at, body)
		if err != nil {
			return nil, err
		}
		return f.client.Do(q, answer)
	})
}

func environmentPath(repo, environment string) (string, error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	if environment == "" {
		return "", fmt.Errorf("environment of %s has no name", repo)
	}
	return "repos/" + owner + "/" + name + "/environments/" + url.PathEscape(environment), nil
}

func actionsPath(repo, environment, kind string) (string, error) {
	if environment != "" {
		at, err := environmentPath(repo, environment)
		return at + "/" + kind, err
	}
	owner, name, err := split(repo)
	return "repos/" + owner + "/" + name + "/actions/" + kind, err
}

func place(repo, environment string) string {
	if environment == "" {
		return repo
	}
	return "environment " + environment + " of " + repo
}
