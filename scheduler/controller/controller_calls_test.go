package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCallsPerRun lists what is asked of the forge, so that it cannot grow
// unnoticed: every call is a request or two, and they are most of the time
// from a push to its pull request.
func TestCallsPerRun(t *testing.T) {
	f := newPlatform("dev")
	promoting := func(o *Options) { o.PromoteTo = "dev" }
	bubble(t, f, promoting, func(r *running) {
		calls := func(what string, want ...string) {
			t.Helper()
			var got []string
			for _, c := range f.Calls() {
				repo, ok := f.Repo(c.Repo) // a read names a clone URL
				if !ok {
					repo = c.Repo
				}
				got = append(got, strings.TrimSpace(c.Method+" "+repo+" "+c.Detail))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		reads := []string{
			"Read acme/platform dev", "Read acme/platform main", "Read acme/platform main", // the newest, and the pinned
			"Statuses acme/platform " + f.Branch(platform, "main"),
			"Read acme/app main", "Read acme/gitops dev",
		}
		publishing := []string{"PullRequests acme/gitops kalypso/dev", "Read acme/gitops kalypso/dev", "Issues acme/gitops"}
		f.Calls()

		r.notify("push", platform, "dev")
		calls("nothing new", slices.Concat(reads, publishing)...)

		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		r.notify("push", platform, "dev")
		calls("push to update", slices.Concat(reads, publishing, []string{
			"Commit acme/gitops kalypso/dev",
			"SavePullRequest acme/gitops Kalypso: dev: assign web-dev to drone, promote " + f.Branch(platform, "main")[:7],
		})...)

		f.Merge(gitOps, 1)
		r.notify("push", gitOps, "dev")
		calls("merge", slices.Concat(reads, publishing)...)

		r.push(platform, "dev", map[string]string{"config.yaml": config("east")})
		r.notify("push", platform, "dev")
		calls("push to pull request", slices.Concat(reads, publishing, []string{
			"Commit acme/gitops kalypso/dev",
			"SavePullRequest acme/gitops Kalypso: dev: update web-dev on drone",
		})...)

		r.pass(DefaultPoll + time.Second)
		calls("a poll", "Head acme/platform dev", "Head acme/platform main", "Head acme/app main", "Head acme/gitops dev")
	})
}
