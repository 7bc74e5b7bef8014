package cmdutil

import (
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// The exit codes, which `kalypso help exit-codes` explains.
const (
	ExitOK             = 0
	ExitFailure        = 1
	ExitUsage          = 2
	ExitChanges        = 3
	ExitNotFound       = 3 // of az, and the Azure CLI's
	ExitAuthentication = 4
	ExitPreflight      = 5
	ExitScenario       = 6
	ExitTimeout        = 7
	ExitProblems       = 8
	ExitInterrupted    = 130
)

// SilentError is a failure that nothing more is printed about.
type SilentError struct{ error }

func (e *SilentError) Unwrap() error { return e.error }

// Silent marks a failure that has been shown already.
func Silent(err error) error { return &SilentError{err} }

// ErrChanges is the result of a command with --exit-code when there are changes.
var ErrChanges = errors.New("the plan has changes")

// ErrProblems marks, by [Classify], that a sandbox has problems.
var ErrProblems = errors.New("there are problems")

// ErrNotFound marks, by [Classify], that a cloud has no such resource.
var ErrNotFound = errors.New("not found")

// ExitCode is the one place where errors become exit codes.
func ExitCode(err error) int {
	var mistake *usage.Error
	var preflight *sandbox.PreflightError
	var check *scenarios.CheckError
	var timeout *sandbox.TimeoutError
	var read *source.Error
	switch {
	case errors.As(err, &mistake), errors.As(err, &read) && read.Unknown:
		return ExitUsage
	case errors.Is(err, ErrChanges):
		return ExitChanges
	case errors.Is(err, ErrProblems):
		return ExitProblems
	case errors.Is(err, ErrNotFound):
		return ExitNotFound
	case errors.Is(err, source.ErrCredentials):
		return ExitAuthentication
	case errors.As(err, &preflight), errors.Is(err, components.ErrNoPayload):
		return ExitPreflight
	case errors.As(err, &check):
		return ExitScenario
	case errors.As(err, &timeout):
		return ExitTimeout
	default:
		return ExitFailure
	}
}

// classifiedError is an error that ExitCode and Hint know by another one.
type classifiedError struct {
	error
	as error
}

func (e *classifiedError) Unwrap() []error { return []error{e.error, e.as} }

// Classify gives an error the exit code and the hint of another one.
func Classify(err, as error) error { return &classifiedError{err, as} }

// Hint is what a user can do about an error, "" when nothing is known.
func Hint(err error) string {
	var known *source.Error
	var left *attached.LeftError
	switch {
	case errors.As(err, &left):
		return left.Hint()
	case errors.As(err, &known):
		return known.Hint
	case errors.Is(err, source.ErrCredentials):
		return fmt.Sprintf("%s and %s are sent to servers that a flag or a remote of the control plane's folder names and to the sandbox's forge, %s to github.com",
			gitUserVariable, gitTokenVariable, GitHubTokenVariable)
	}
	return ""
}
