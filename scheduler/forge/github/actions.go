package github

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"

	sdk "github.com/google/go-github/v88/github"
	"golang.org/x/crypto/nacl/box"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Variables, secrets and environments are those of workflows. In an environment
// parameter "" stands for the repository itself.

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
		return fmt.Errorf("variable %s of %s: %w", name, scope(repo, environment), err)
	}
	return nil
}

// HasVariable reports whether a workflow variable exists, whatever its value.
// There is none in an environment that does not exist.
func (f *Forge) HasVariable(ctx context.Context, repo, environment, name string) (bool, error) {
	base, err := actionsPath(repo, environment, "variables")
	if err != nil {
		return false, err
	}
	return f.exists(ctx, base+"/"+url.PathEscape(name), "variable "+name+" of "+scope(repo, environment))
}

// SetSecret makes a workflow secret or changes it. It is sealed for the
// repository before it is sent, and no error contains it.
func (f *Forge) SetSecret(ctx context.Context, repo, environment, name, value string) error {
	base, err := actionsPath(repo, environment, "secrets")
	if err != nil {
		return err
	}
	var key sdk.PublicKey
	if err := f.send(ctx, http.MethodGet, base+"/public-key", nil, &key); err != nil {
		return fmt.Errorf("public key for the secrets of %s: %w", scope(repo, environment), err)
	}
	sealed, err := seal(key.GetKey(), value)
	if err == nil {
		err = f.send(ctx, http.MethodPut, base+"/"+url.PathEscape(name), map[string]string{"encrypted_value": sealed, "key_id": key.GetKeyID()}, nil)
	}
	if err != nil {
		return fmt.Errorf("secret %s of %s: %w", name, scope(repo, environment), err)
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

// CreateEnvironment makes a deployment environment; an existing one is left as
// it is.
func (f *Forge) CreateEnvironment(ctx context.Context, repo, environment string) error {
	exists, err := f.HasEnvironment(ctx, repo, environment)
	if err != nil || exists {
		return err
	}
	at, err := environmentPath(repo, environment)
	if err == nil {
		err = f.send(ctx, http.MethodPut, at, nil, nil)
	}
	if err != nil {
		return fmt.Errorf("environment %s of %s: %w", environment, repo, err)
	}
	return nil
}

// HasEnvironment reports whether a repository has a deployment environment.
func (f *Forge) HasEnvironment(ctx context.Context, repo, environment string) (bool, error) {
	at, err := environmentPath(repo, environment)
	if err != nil {
		return false, err
	}
	return f.exists(ctx, at, scope(repo, environment))
}

func (f *Forge) exists(ctx context.Context, at, what string) (bool, error) {
	err := f.send(ctx, http.MethodGet, at, nil, nil)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, forge.ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", what, err)
}

func environmentPath(repo, environment string) (string, error) {
	owner, name, err := forge.SplitRepo(repo)
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
	owner, name, err := forge.SplitRepo(repo)
	return "repos/" + owner + "/" + name + "/actions/" + kind, err
}

// scope is a repository or an environment of it, for messages.
func scope(repo, environment string) string {
	if environment == "" {
		return repo
	}
	return "environment " + environment + " of " + repo
}

// StartWorkflow starts a workflow by the name of its file, as it is on branch
// ref.
func (f *Forge) StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error {
	if !forge.PlainName(file) || path.Ext(file) == "" {
		return fmt.Errorf("workflow %q of %s: give the name of its file, as in cd.yaml", file, repo)
	}
	event := sdk.CreateWorkflowDispatchEventRequest{Ref: ref}
	for key, value := range inputs {
		if event.Inputs == nil {
			event.Inputs = map[string]any{}
		}
		event.Inputs[key] = value
	}
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		_, r, err := f.client.Actions.CreateWorkflowDispatchEventByFileName(ctx, owner, name, file, event)
		return r, err
	})
	if err != nil {
		return fmt.Errorf("starting workflow %s of %s on %s: %w", file, repo, ref, err)
	}
	return nil
}
