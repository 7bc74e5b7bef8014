package actions

import (
	"strings"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// The results that a job or a step can have.
const (
	success   = "success"
	failure   = "failure"
	cancelled = "cancelled"
	skipped   = "skipped"
)

func resultName(r runnerv1.Result) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "RESULT_"))
}

func resultOf(name string) runnerv1.Result {
	return runnerv1.Result(runnerv1.Result_value["RESULT_"+strings.ToUpper(name)])
}
