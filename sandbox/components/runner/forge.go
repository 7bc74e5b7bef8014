package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
	"github.com/cenkalti/backoff/v5"
	"github.com/google/renameio/v2"
)

const (
	// callLimit is generous: a task whose answer is not awaited is lost, while
	// the forge believes that it runs.
	callLimit = 30 * time.Second
	// mostRefusals is how often an answer that is an error is taken for a forge
	// that is only busy.
	mostRefusals = 3
)

// identity is how the forge knows a runner. Jobs never see it: it is neither
// in their environment nor on a command line.
type identity struct {
	URL   string `json:"url"`
	UUID  string `json:"uuid"`
	Token string `json:"token"`
}

// noProxy is for the forge, which is on this machine.
var noProxy = &http.Client{Timeout: callLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}

// newClient asks for the identity before each call; an empty one is for
// registering.
func newClient(url string, current func() identity) runnerv1connect.RunnerServiceClient {
	identify := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if id := current(); id.UUID != "" {
				r.Header().Set("x-runner-uuid", id.UUID)
				r.Header().Set("x-runner-token", id.Token)
			}
			return next(ctx, r)
		}
	})
	return runnerv1connect.NewRunnerServiceClient(noProxy, strings.TrimSuffix(url, "/")+"/api/actions", connect.WithInterceptors(identify))
}

// answered reports whether an error is the forge's own answer: asking again
// will not change it.
func answered(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return false
	}
	return connect.IsWireError(err)
}

// unregistered reports whether the forge does not know this runner, or no
// longer.
func unregistered(err error) bool {
	return answered(err) && (connect.CodeOf(err) == connect.CodeUnauthenticated || strings.Contains(err.Error(), "unregistered runner"))
}

// retry calls the forge until it has answered or ctx ends. An answer that is an
// error may come from a forge that is busy: it is asked again a few times.
func retry(ctx context.Context, call func() error) error {
	refused := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := call()
		if answered(err) {
			refused++
		}
		if refused == mostRefusals {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 200 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.1, MaxInterval: 5 * time.Second,
	}))
	if permanent := (*backoff.PermanentError)(nil); errors.As(err, &permanent) {
		return permanent.Err
	}
	return err
}

func (r *runner) identityFile() string { return filepath.Join(r.config.Dir, "identity.json") }

// loadIdentity takes the identity of an earlier start, if there is one for this
// forge.
func (r *runner) loadIdentity() error {
	b, err := os.ReadFile(r.identityFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var id identity
	if err == nil && json.Unmarshal(b, &id) == nil && id.URL == r.config.URL {
		r.become(id)
	}
	return err
}

// register makes the runner known to the forge: by its old identity where the
// forge still knows that, else by a new one.
func (r *runner) register(ctx context.Context) error {
	if r.current().UUID != "" {
		err := r.declare(ctx)
		if !unregistered(err) {
			return err
		}
		r.log.Warn("the forge does not know this runner any more: it registers anew")
		r.become(identity{})
	}
	answer, err := r.client.Register(ctx, connect.NewRequest(&runnerv1.RegisterRequest{
		Name: runnerName, Token: r.config.RegistrationToken, Version: runnerName, Labels: labels(runtime.GOOS, runtime.GOARCH),
	}))
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	id := identity{URL: r.config.URL, UUID: answer.Msg.GetRunner().GetUuid(), Token: answer.Msg.GetRunner().GetToken()}
	b, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(r.identityFile(), b, 0o600); err != nil {
		return err
	}
	r.become(id)
	return r.declare(ctx)
}

func (r *runner) declare(ctx context.Context) error {
	_, err := r.client.Declare(ctx, connect.NewRequest(&runnerv1.DeclareRequest{
		Version: runnerName, Labels: labels(runtime.GOOS, runtime.GOARCH),
	}))
	if err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	return nil
}
