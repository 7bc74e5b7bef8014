package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"connectrpc.com/connect"
)

// identity is how the forge knows a runner. Jobs never see it: it is neither
// in their environment nor on a command line.
type identity struct {
	URL   string `json:"url"`
	UUID  string `json:"uuid"`
	Token string `json:"token"`
}

const runnerVersion = "kalypso"

func (r *Runner) identityFile() string { return filepath.Join(r.Config.Dir, "identity.json") }

// loadIdentity returns the identity of an earlier start, empty when there is
// none, or when it is for another forge.
func (r *Runner) loadIdentity() (identity, error) {
	var id identity
	b, err := os.ReadFile(r.identityFile())
	if errors.Is(err, os.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	if json.Unmarshal(b, &id) != nil || id.URL != r.Config.URL {
		return identity{}, nil
	}
	return id, nil
}

// introduce makes the runner known to the forge: by its old identity where the
// forge still knows that, else by a new one.
func (r *Runner) introduce(ctx context.Context) error {
	if r.current().UUID != "" {
		err := r.declare(ctx)
		if !unknown(err) {
			return err
		}
		r.Log.Warn("the forge does not know this runner any more: it registers anew")
		r.become(identity{})
	}
	token, err := r.registrationToken(ctx)
	if err != nil {
		return fmt.Errorf("registration token: %w", err)
	}
	answer, err := r.client.Register(ctx, connect.NewRequest(&runnerv1.RegisterRequest{
		Name: r.Config.Name, Token: token, Version: runnerVersion, Labels: r.Config.Labels,
	}))
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	id := identity{URL: r.Config.URL, UUID: answer.Msg.GetRunner().GetUuid(), Token: answer.Msg.GetRunner().GetToken()}
	b, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := writeFile(r.identityFile(), b); err != nil {
		return err
	}
	r.become(id)
	return r.declare(ctx)
}

func (r *Runner) declare(ctx context.Context) error {
	_, err := r.client.Declare(ctx, connect.NewRequest(&runnerv1.DeclareRequest{Version: runnerVersion, Labels: r.Config.Labels}))
	if err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	return nil
}

func (r *Runner) registrationToken(ctx context.Context) (string, error) {
	switch {
	case r.Token != nil:
		return r.Token(ctx)
	case r.Config.RegistrationToken != "":
		return r.Config.RegistrationToken, nil
	case r.Config.RegistrationTokenFile != "":
		b, err := os.ReadFile(r.Config.RegistrationTokenFile)
		return strings.TrimSpace(string(b)), err
	}
	return "", errors.New("there is none: set registrationToken or registrationTokenFile")
}
