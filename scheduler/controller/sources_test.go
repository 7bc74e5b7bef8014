package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestOneSourceStopsNothingElse has one workload's repository fail in several ways.
// What is there of it stays, another workload's change is published, and the pull
// request, the issue and the status say so. All is well again when it can be read.
func TestOneSourceStopsNothingElse(t *testing.T) {
	const other = "acme/other"
	for name, fault := range map[string]struct {
		err    error
		says   string
		failed bool // the run is tried again
	}{
		"500":         {errors.New(`unexpected requesting "http://forge.test/acme/app" status code: 500`), "answers 500", true},
		"hangs":       {fmt.Errorf("%w: no answer within 2m0s", gitclient.ErrNetwork), "does not answer", true},
		"credentials": {fmt.Errorf("repository x: %w", gitclient.ErrDenied), "refuses", true},
		"a host":      {fmt.Errorf("repository x: %w", &model.HostError{Host: "internal:22"}), "allowedHosts: [\"internal:22\"]", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := deployed(t, "dev")
			before := f.Files(gitOps, "dev")
			bubble(t, f, nil, func(r *running) {
				f.Down(func(c forgefake.Call) error {
					if c.Method == "Read" && c.Repo == forgefake.URL(app) {
						return fault.err
					}
					return nil
				})
				workload := f.Files(app, "main")
				for file, content := range workload {
					workload[file] = strings.ReplaceAll(content, "name: web", "name: other")
				}
				f.Push(other, "main", workload)
				registration := f.Files(platform, "main")["registrations/web.yaml"]
				r.push(platform, "main", map[string]string{
					"registrations/other.yaml": strings.NewReplacer("name: web", "name: other", forgefake.URL(app), forgefake.URL(other)).Replace(registration),
				})
				r.notify("push", platform, "main")
				s := r.status("dev")
				if (s.State == Failed) != fault.failed || s.PullRequest == nil || len(s.Issues) != 1 || len(s.Problems) == 0 {
					t.Fatalf("status %+v", s)
				}
				after := f.Files(gitOps, "kalypso/dev")
				added := false
				for file, content := range before {
					if after[file] != content {
						t.Errorf("%s is %q, was %q", file, after[file], content)
					}
				}
				for file := range after {
					added = added || strings.Contains(file, "other-dev/")
				}
				if !added {
					t.Errorf("the other workload is not published: %v", after)
				}
				bodies := map[string]string{"issue": "", "pull request": ""}
				for _, i := range f.AllIssues(gitOps) {
					bodies["issue"] += i.Body
				}
				for _, pr := range f.AllPullRequests(gitOps) {
					bodies["pull request"] += pr.Body
				}
				for what, body := range bodies {
					if text := strings.ReplaceAll(body, "`", ""); !strings.Contains(text, fault.says) {
						t.Errorf("the %s does not say %q:\n%s", what, fault.says, text)
					}
				}
				f.Down(nil)
				r.notify("push", app, "main")
				if s := r.status("dev"); s.Error != "" || len(s.Issues) != 0 || len(s.Problems) != 0 {
					t.Errorf("not recovered: %+v", s)
				}
			})
		})
	}
}
