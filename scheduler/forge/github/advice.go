package github

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// lookAround is what to do where an answer is missing.
const lookAround = "check the network and the proxies on the way; how GitHub is doing is at githubstatus.com"

// advised adds to an error of git what to do about it.
func advised(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, forge.ErrNotFound):
		return fmt.Errorf("%w, or the account may not see it", err)
	case errors.Is(err, gitclient.ErrDenied):
		return fmt.Errorf("%w: check that the token or App is valid and may write the repository's contents, and its workflows where those change", err)
	case errors.Is(err, gitclient.ErrNetwork), errors.As(err, new(net.Error)), strings.Contains(err.Error(), "status code: 5"):
		return fmt.Errorf("%w (%s)", err, lookAround)
	}
	return err
}
