package github_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// massDeletion is a GitOps repository with ten assignments, of which a plan
// removes eight.
type massDeletion struct {
	*fixture
	harmless, deletion *plan.Plan
}

const gitOps = "acme/gitops"

func newMassDeletion(t *testing.T, options ...func(*githubfake.Server)) *massDeletion {
	t.Helper()
	m := &massDeletion{fixture: newFixture(t)}
	for _, o := range options {
		o(m.Server)
	}
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("drone/app%d/namespace.yaml", i)] = "x"
	}
	head := m.Push(gitOps, "dev", files)
	make := func(changes ...plan.Change) *plan.Plan {
		return &plan.Plan{Environment: "dev", GitOps: model.Reference{Repo: m.URL + "/" + gitOps, Branch: "dev"}, GitOpsHead: head, Changes: changes}
	}
	m.harmless = make(plan.Change{Path: "drone/app0/namespace.yaml", Action: plan.Modify, Content: []byte("y")})
	var gone []plan.Change
	for i := range 8 {
		gone = append(gone, plan.Change{Path: fmt.Sprintf("drone/app%d/namespace.yaml", i), Action: plan.Remove})
	}
	m.deletion = make(gone...)
	return m
}

// exposed reports whether somebody could merge the deletion.
func (m *massDeletion) exposed() bool {
	return slices.ContainsFunc(m.Pulls(gitOps), func(p githubfake.Pull) bool {
		return p.State == "open" && !p.Draft && len(m.Files(gitOps, p.Head)) < 5
	})
}

// guard looks at every request whether the deletion is exposed.
func (m *massDeletion) guard(t *testing.T, what string) (end func()) {
	var over atomic.Bool
	m.Fail(githubfake.Fault{Times: -1, On: func(c githubfake.Call) bool {
		if !over.Load() && m.exposed() {
			t.Errorf("%s: the deletion can be merged before %s", what, c.Kind)
		}
		return false
	}})
	return func() { over.Store(true) }
}

// apply publishes a plan until there is no error.
func (m *massDeletion) apply(t *testing.T, p *plan.Plan) publish.Result {
	t.Helper()
	var err error
	for range 5 {
		var r publish.Result
		if r, err = publish.Apply(t.Context(), m.forge, p, publish.Options{}); err == nil {
			return r
		}
		useful(t, m.bot.Token, err)
	}
	t.Fatalf("not published: %v", err)
	return publish.Result{}
}

// holds checks that the deletion is held.
func (m *massDeletion) holds(t *testing.T, what string) (number int) {
	t.Helper()
	for _, p := range m.Pulls(gitOps) {
		if p.State != "open" {
			continue
		}
		if !p.Draft || !slices.Contains(p.Labels, forge.LabelMassDelete) || len(m.Files(gitOps, p.Head)) != 2 || number != 0 {
			t.Errorf("%s: %+v, the branch has %d files", what, p, len(m.Files(gitOps, p.Head)))
		}
		number = p.Number
	}
	if number == 0 {
		t.Errorf("%s: no pull request is open", what)
	}
	return number
}

// TestHeldThroughFaults lets every fault happen to every request while a mass
// deletion is held, and then released: it can never be merged before it is.
func TestHeldThroughFaults(t *testing.T) {
	all := slices.Clone(faults)
	for _, g := range graphErrors {
		all = append(all, struct {
			name   string
			late   bool
			answer githubfake.Answer
			every  bool
			git    bool
		}{name: "200 " + g.name, answer: g.answer})
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			step := 5
			if f.every && !testing.Short() {
				step = 2
			}
			on := ofAPI
			switch {
			case f.name[:3] == "200":
				on, step = githubfake.Kinds("POST /graphql"), 1 // the REST API does not answer so
			case f.git:
				on = nil
			}
			for _, fresh := range []bool{false, true} {
				for skip := 0; ; skip += step {
					what := fmt.Sprintf("fresh %t, request %d", fresh, skip)
					m := newMassDeletion(t)
					m.forge.Impatient(func(time.Duration) {})
					if !fresh {
						m.apply(t, m.harmless)
					}
					hit := false
					end := m.guard(t, what)
					fault := githubfake.Fault{Skip: skip, Late: f.late, Answer: f.answer}
					fault.Answer = func(w http.ResponseWriter, q *http.Request, run func() githubfake.Outcome) {
						hit = true
						f.answer(w, q, run)
					}
					fault.On = on
					m.Fail(fault)
					m.apply(t, m.deletion)
					number := m.holds(t, what)
					end()
					m.Unlabel(gitOps, number, forge.LabelMassDelete)
					m.apply(t, m.deletion)
					if p := m.Pulls(gitOps); p[len(p)-1].State != "open" || p[len(p)-1].Draft {
						t.Errorf("%s, released: %+v", what, p)
					}
					if !hit {
						break // there are no more requests
					}
				}
			}
		})
	}
}

// TestHeldWithoutGraphQL has an account to which the GraphQL API is closed for
// good.
func TestHeldWithoutGraphQL(t *testing.T) {
	for _, g := range graphErrors {
		if g.waits {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			m := newMassDeletion(t)
			m.apply(t, m.harmless)
			defer m.guard(t, g.name)()
			end := m.Fail(githubfake.Fault{Times: -1, On: githubfake.Kinds("POST /graphql"), Answer: g.answer})
			for range 4 {
				_, _ = publish.Apply(t.Context(), m.forge, m.deletion, publish.Options{})
			}
			if m.exposed() {
				t.Error("in the end the deletion can be merged")
			}
			if g.means != nil {
				m.holds(t, "by a new draft")
			}
			end()
			m.apply(t, m.deletion)
			m.holds(t, "in the end")
		})
	}
}

// TestMadeReady has a user make ready what is held, while the GraphQL API is
// closed.
func TestMadeReady(t *testing.T) {
	for _, g := range graphErrors {
		if g.waits {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			m := newMassDeletion(t)
			m.apply(t, m.deletion)
			m.Ready(gitOps, m.holds(t, "first"))
			if !m.exposed() {
				t.Fatal("it was not made ready")
			}
			m.Fail(githubfake.Fault{Times: -1, On: githubfake.Kinds("POST /graphql"), Answer: g.answer})
			if _, err := publish.Apply(t.Context(), m.forge, m.deletion, publish.Options{}); err == nil {
				t.Error("no error")
			}
			if m.exposed() {
				t.Error("the deletion can be merged")
			}
			m.apply(t, m.deletion) // opens a new draft, for which GraphQL is not needed
			m.holds(t, "in the end")
		})
	}
}

// TestHeldWithoutDrafts has a repository in which nothing can be a draft.
func TestHeldWithoutDrafts(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		m := newMassDeletion(t, func(s *githubfake.Server) { s.Repo(gitOps, githubfake.NoDrafts) })
		if !fresh {
			m.apply(t, m.harmless)
		}
		defer m.guard(t, "")()
		for range 2 {
			r := m.apply(t, m.deletion)
			if issues := m.Issues(gitOps); r.Action != publish.Withheld || !r.Held || len(issues) != 1 || m.Branch(gitOps, "kalypso/dev") != "" {
				t.Errorf("fresh %t: %+v, issues %+v, branch %q", fresh, r, issues, m.Branch(gitOps, "kalypso/dev"))
			}
		}
	}
}

// TestHeldByALabelOfOtherCase has a repository whose own label differs in case.
func TestHeldByALabelOfOtherCase(t *testing.T) {
	m := newMassDeletion(t)
	m.Label(gitOps, m.OpenIssue(gitOps, "hers"), "Mass-Delete")
	defer m.guard(t, "")()
	for range 2 {
		if r := m.apply(t, m.deletion); !r.Held || !r.PullRequest.Draft {
			t.Errorf("%+v", r)
		}
	}
	for _, p := range m.Pulls(gitOps) {
		if !p.Draft {
			t.Errorf("%+v", p)
		}
	}
}
