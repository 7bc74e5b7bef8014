package stack

import (
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

func TestEnvironmentIsSynced(t *testing.T) {
	open := &controller.PullRequestStatus{Number: 1, State: "open"}
	for name, test := range map[string]struct {
		e       controller.EnvironmentStatus
		applied bool
		want    EnvironmentState
	}{
		"all is done":              {controller.EnvironmentStatus{State: controller.Synced}, true, EnvironmentSynced},
		"a pull request waits":     {controller.EnvironmentStatus{State: controller.Synced, PullRequest: open}, true, EnvironmentProposed},
		"one that a user closed":   {controller.EnvironmentStatus{State: controller.Synced, PullRequest: &controller.PullRequestStatus{State: "closed"}}, true, EnvironmentSynced},
		"broken YAML":              {controller.EnvironmentStatus{State: controller.Synced, PullRequest: open, Problems: []string{"a.yaml:1: broken"}}, true, EnvironmentProblems},
		"a cluster has not got it": {controller.EnvironmentStatus{State: controller.Synced}, false, EnvironmentApplying},
		"the run has failed":       {controller.EnvironmentStatus{State: controller.Failed, PullRequest: open}, true, EnvironmentFailed},
	} {
		got := environmentOf(test.e, test.applied)
		if got.State != test.want || (got.PullRequest == open) != (test.e.PullRequest == open && open != nil) {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
}
