//go:build e2e

package e2e

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// workflowRun is what the forge reports about a run of a workflow.
type workflowRun struct {
	ID         int
	Number     int    `json:"run_number"`
	Path       string // FILE@REF
	HeadSHA    string `json:"head_sha"`
	Status     string
	Conclusion string
	URL        string `json:"html_url"`
}

// runs are those of a repository's workflows, the latest first.
func (m *machine) runs(repo string) []workflowRun {
	m.t.Helper()
	var answer struct {
		Runs []workflowRun `json:"workflow_runs"`
	}
	m.decode(m.forge(http.MethodGet, "repos/kalypso/"+repo+"/actions/runs", ""), &answer)
	return answer.Runs
}

func (m *machine) workflowRun(repo string, id int) workflowRun {
	m.t.Helper()
	var r workflowRun
	m.decode(m.forge(http.MethodGet, fmt.Sprintf("repos/kalypso/%s/actions/runs/%d", repo, id), ""), &r)
	return r
}

// waitForRun waits for the latest run of a workflow to please.
func (m *machine) waitForRun(repo, file string, pleases func(workflowRun) error) workflowRun {
	m.t.Helper()
	var found workflowRun
	waitFor(m.t, "run of "+file+" of "+repo, chainLimit, func() error {
		for _, r := range m.runs(repo) {
			if strings.HasPrefix(r.Path, file+"@") {
				found = r
				return pleases(r)
			}
		}
		return errors.New("there is none")
	})
	return found
}

// waitForSuccess waits for the end of a run.
func (m *machine) waitForSuccess(repo string, id int) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("end of run %d of %s", id, repo), chainLimit, func() error {
		r := m.workflowRun(repo, id)
		if r.Conclusion == "failure" || r.Conclusion == "cancelled" {
			m.t.Fatalf("%s has ended with %s:\n%s", r.URL, r.Conclusion, m.log(repo, id))
		}
		if r.Status != "completed" {
			return fmt.Errorf("it is %s", r.Status)
		}
		return nil
	})
}

// waitForConclusion waits for a run of the control plane to end like that.
func (m *machine) waitForConclusion(run workflowRun, conclusion string) {
	m.t.Helper()
	waitFor(m.t, "end of "+run.URL, chainLimit, func() error {
		if r := m.workflowRun(controlPlane, run.ID); r.Conclusion != conclusion {
			return fmt.Errorf("it is %s %s, want %s", r.Status, r.Conclusion, conclusion)
		}
		return nil
	})
}

// log is what all jobs of a run have printed.
func (m *machine) log(repo string, id int) string {
	m.t.Helper()
	var answer struct {
		Jobs []struct {
			ID   int
			Name string
		}
	}
	m.decode(m.forge(http.MethodGet, fmt.Sprintf("repos/kalypso/%s/actions/runs/%d/jobs", repo, id), ""), &answer)
	var all strings.Builder
	for _, j := range answer.Jobs {
		// a job that has not begun has none
		text, err := m.tryForge(http.MethodGet, fmt.Sprintf("repos/kalypso/%s/actions/jobs/%d/logs", repo, j.ID), "")
		fmt.Fprintf(&all, "job %s: %v\n%s\n", j.Name, err, text)
	}
	return all.String()
}

// history are the states and descriptions that a commit's context has had, in
// order.
func (m *machine) history(commit, context string) []string {
	m.t.Helper()
	var all []string
	for _, s := range m.statuses(commit) {
		if s.Context == context {
			all = append(all, s.Status+" "+s.Description)
		}
	}
	return all
}

type commitStatus struct {
	ID                           int64
	Context, Status, Description string
}

// statuses are those of a commit of the control plane, the oldest first.
func (m *machine) statuses(commit string) []commitStatus {
	m.t.Helper()
	var all []commitStatus
	m.decode(m.forge(http.MethodGet, "repos/kalypso/"+controlPlane+"/commits/"+commit+"/statuses?sort=oldest&limit=50", ""), &all)
	// those of the same second come in any order
	slices.SortFunc(all, func(a, b commitStatus) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (m *machine) waitForStatus(commit, context, state, description string) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("status %s of %.7s", context, commit), chainLimit, func() error {
		all := m.history(commit, context)
		if len(all) == 0 {
			return errors.New("there is none")
		}
		if last := all[len(all)-1]; last != state+" "+description {
			return fmt.Errorf("it is %s, want %s %s", last, state, description)
		}
		return nil
	})
}

// waitForPull waits for an open pull request to a branch that pleases.
func (m *machine) waitForPull(repo, base string, pleases func(pull) error) pull {
	m.t.Helper()
	var found pull
	waitFor(m.t, "pull request to "+base+" of "+repo, chainLimit, func() error {
		for _, p := range m.pulls(repo) {
			if p.Base.Ref == base && p.State == "open" {
				found = p
				return pleases(p)
			}
		}
		return errors.New("there is none")
	})
	return found
}

// platform is the platform's GitOps repository.
func (m *machine) platform() string {
	for _, r := range m.repositories() {
		if r.Records {
			return r.Name
		}
	}
	m.t.Fatal("there is none")
	return ""
}

// waitForPromotion waits for the pull request that brings a commit of the
// control plane to an environment.
func (m *machine) waitForPromotion(environment, commit string) pull {
	m.t.Helper()
	return m.waitForPull(m.platform(), environment, func(p pull) error {
		if got := strings.TrimSpace(m.file(m.platform(), "kalypso/"+environment, ".github/tracking/Promoted_Commit_Id")); got != commit {
			return fmt.Errorf("it promotes %s", got)
		}
		return nil
	})
}

// merge merges a pull request as it is now.
func (m *machine) merge(repo string, number int) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("merge of pull request %d of %s", number, repo), 15*time.Second, func() error {
		// the forge refuses as long as it looks at a new head
		_, err := m.tryForge(http.MethodPost, fmt.Sprintf("repos/kalypso/%s/pulls/%d/merge", repo, number), `{"Do": "merge"}`)
		return err
	})
}

// file is a file's content at the head of a branch.
func (m *machine) file(repo, branch, path string) string {
	m.t.Helper()
	var answer struct{ Content string }
	m.decode(m.forge(http.MethodGet, "repos/kalypso/"+repo+"/contents/"+path+"?ref="+branch, ""), &answer)
	content, err := base64.StdEncoding.DecodeString(answer.Content)
	if err != nil {
		m.t.Fatalf("%s of %s: %v", path, repo, err)
	}
	return string(content)
}

func (m *machine) head(repo, branch string) string {
	m.t.Helper()
	commit, _, _ := strings.Cut(m.git(m.dir, "ls-remote", m.credentials().OrgURL+"/"+repo, "refs/heads/"+branch), "\t")
	return commit
}

// pinned is the commit that an environment takes.
func (m *machine) pinned(environment string) string {
	m.t.Helper()
	for line := range strings.Lines(m.file(controlPlane, environment, "base-repo.yaml")) {
		if commit, ok := strings.CutPrefix(strings.TrimSpace(line), "commit: "); ok {
			return commit
		}
	}
	return ""
}

// waitForPinned waits for a commit to be promoted to an environment.
func (m *machine) waitForPinned(environment, commit string) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("promotion of %.7s to %s", commit, environment), chainLimit, func() error {
		if now := m.pinned(environment); now != commit {
			return fmt.Errorf("it takes %.7s", now)
		}
		return nil
	})
}

// waitForPage waits for the pods of a deployment target to serve a page with
// all these words.
func (m *machine) waitForPage(cluster, environment, target, port string, words ...string) {
	m.t.Helper()
	if os.Geteuid() != 0 {
		return // the nodes are simulated, and their pods do not run
	}
	namespace := strings.Join([]string{environment, workspace, appName, target}, "-")
	waitFor(m.t, "page of "+target+" on "+cluster, chainLimit, func() error {
		out, err := m.try("kubectl", "--context", cluster, "--namespace", namespace, "rollout", "status", "deployment/hello-world-deployment", "--timeout=30s")
		if err != nil {
			return errors.New(out.stderr)
		}
		page := m.forwarded(cluster, namespace, "svc/hello-world-service", port)
		for _, w := range words {
			if !strings.Contains(page, w) {
				return fmt.Errorf("it lacks %q:\n%s", w, page)
			}
		}
		return nil
	})
}

// kill ends a component of the sandbox.
func (m *machine) kill(component string) {
	m.t.Helper()
	pid := m.pids()[component]
	if pid == 0 {
		m.t.Fatalf("no process of %s", component)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatalf("%s, process %d: %v", component, pid, err)
	}
}
