package main

import (
	"errors"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

const (
	exitOK             = 0
	exitFailure        = 1
	exitUsage          = 2
	exitChanges        = 3
	exitNotFound       = 3 // of az, and the Azure CLI's
	exitAuthentication = 4
	exitPreflight      = 5
	exitScenario       = 6
	exitTimeout        = 7
	exitInterrupted    = 130
)

// silentError is a failure that has been shown already.
type silentError struct{ error }

func (e *silentError) Unwrap() error { return e.error }

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var usage *sandbox.UsageError
	var preflight *sandbox.PreflightError
	var check *scenarios.CheckError
	var timeout *sandbox.TimeoutError
	var absent *azNotFoundError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errPlanHasChanges):
		return exitChanges
	case errors.As(err, &absent):
		return exitNotFound
	case errors.Is(err, source.ErrCredentials):
		return exitAuthentication
	case errors.As(err, &preflight), errors.Is(err, components.ErrNoPayload):
		return exitPreflight
	case errors.As(err, &check):
		return exitScenario
	case errors.As(err, &timeout):
		return exitTimeout
	default:
		return exitFailure
	}
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `kalypso exits with

    0  done
    1  something failed
    2  it was called wrongly
    3  the plan has changes (where a command promises to tell); for az, there is
       no such resource, as the Azure CLI has it
    4  a forge or a cloud refused the credentials
    5  this machine lacks something: see the message
    6  a scenario's check failed
    7  something waited for did not come in time
  130  interrupted`,
	}
}
