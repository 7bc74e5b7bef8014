package actions

import (
	"context"
	"net/http"
	"strings"
	"time"

	"code.gitea.io/actions-proto-go/runner/v1/runnerv1connect"
	"connectrpc.com/connect"
)

// callLimit is generous: a task whose answer is not awaited is lost, while the
// forge believes that it runs.
const callLimit = 30 * time.Second

// newClient speaks to the forge as a runner. identity is asked before each
// call; an empty one is for registering.
func newClient(url string, identity func() identity) runnerv1connect.RunnerServiceClient {
	show := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if id := identity(); id.UUID != "" {
				r.Header().Set("x-runner-uuid", id.UUID)
				r.Header().Set("x-runner-token", id.Token)
			}
			return next(ctx, r)
		}
	})
	// no proxy: the forge is on this machine
	http := &http.Client{Timeout: callLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	return runnerv1connect.NewRunnerServiceClient(http, strings.TrimSuffix(url, "/")+"/api/actions", connect.WithInterceptors(show))
}

// answered tells whether an error is the forge's own answer: asking again will
// not change it.
func answered(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return false
	}
	return connect.IsWireError(err)
}

// unknown tells whether the forge does not know this runner (any more).
func unknown(err error) bool {
	return answered(err) && (connect.CodeOf(err) == connect.CodeUnauthenticated || strings.Contains(err.Error(), "unregistered runner"))
}
