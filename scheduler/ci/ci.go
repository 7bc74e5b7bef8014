// Package ci is what the steps of a workflow do: each verb of `kalypso ci` is
// one function here. The workflows run on the runners of GitHub and of Gitea
// alike, because the verbs know them by nothing but the variables that both
// set, and because they need no other program on the runner: no Docker, no
// Helm, no git, no forge's or cloud's command line.
//
// # The application's side
//
//	build-image          an OCI image from a folder with a Dockerfile, into a registry
//	render               a chart and the values of each deployment target to manifests
//	descriptor           what is deployed, for the hub that observes deployments
//	create-pr            a folder of manifests to a pull request on a GitOps repository
//
// # Both sides
//
//	set-status           how a commit fares in an environment
//	wait-for-deployment  the gate: until all clusters have a commit and are well
//	start-workflow       the next workflow of the chain, in this or another repository
//	deployed-version     which version is on a GitOps branch, and whether a push has brought it
//
// # The platform's side
//
//	promote              pin a commit of the control plane in an environment
//	promoted-commit      which commit a push to a GitOps branch has promoted
//
// # The contract
//
// A verb learns where it runs from the environment, see [Environment], and
// takes secrets from nowhere else: a flag would be in the log. What a later
// step needs goes to the file that GITHUB_OUTPUT names, see [Outputs]; a line
// for users goes to the log. A verb that is run again changes nothing that is
// as it should be.
//
// The token of a job, GITHUB_TOKEN, is good for the job's own repository only,
// and what is done with it starts no other workflow: that is both forges' rule
// against endless loops. Steps that write to another repository, or whose pull
// requests are to start workflows there, get a token of a user or a bot in
// KALYPSO_CI_TOKEN.
package ci

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrDenied is wrapped by errors about a server that does not take the token.
var ErrDenied = errors.New("access denied")

// hinted is an error with a sentence on what to do about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func withHint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// Hint is what a user can do about an error, "" when that is in its text.
func Hint(err error) string {
	var h *hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, ErrDenied):
		return "the token is that of KALYPSO_CI_TOKEN, or else GITHUB_TOKEN, which is good for the workflow's own repository only"
	}
	return ""
}

// Outputs writes what later steps need to the file that GITHUB_OUTPUT names,
// one NAME=VALUE a line. Without a file nothing is written: the log has it all.
type Outputs struct{ File string }

// Set adds an output. What has several lines is refused: it would need a
// delimiter, and none of the verbs has such an output.
func (o Outputs) Set(name, value string) error {
	if strings.ContainsAny(value, "\r\n") {
		return fmt.Errorf("output %s has several lines: %q", name, value)
	}
	if o.File == "" {
		return nil
	}
	f, err := os.OpenFile(o.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the file that GITHUB_OUTPUT names: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s=%s\n", name, value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("output %s: %w", name, err)
	}
	return nil
}
