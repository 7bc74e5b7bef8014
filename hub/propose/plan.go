package propose

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// The documents of plans, as the API has them. Lists are never null.
type (
	// Plan is what edits would do to an environment.
	Plan struct {
		Environment  string `json:"environment"`
		Against      string `json:"against" enum:"planned,merged,running" doc:"What it is compared with: what is planned without the edits, what is merged on the GitOps branch, or what runs on the clusters."`
		ControlPlane string `json:"controlPlane" doc:"URL of the repository that is edited."`
		Branch       string `json:"branch" doc:"Of that repository, which is edited: a pull request goes to it."`
		Base         string `json:"base" doc:"The commit of the branch that was asked for; the head where none was."`
		Head         string `json:"head" doc:"The commit of the branch that the plan is made on, for If-Match of a proposal."`
		Stale        bool   `json:"stale" doc:"The branch is not at base any more: the plan is made on head."`
		Moved        int    `json:"moved" doc:"How many commits head is ahead of base; 0 where that is not known."`

		Changed       bool           `json:"changed" doc:"Whether the edits change a file of the control plane."`
		Source        PlanSource     `json:"source"`
		Assignments   Reassignments  `json:"assignments"`
		Configuration []ConfigChange `json:"configuration" doc:"The keys of the platform configuration that differ, by assignment; the first 1000."`
		Files         []FileChange   `json:"files" doc:"Of the GitOps branch, by path. Of more than 500 none has its diff: ask for them by file."`
		FileCount     int            `json:"fileCount"`
		Summary       string         `json:"summary" doc:"How many files and assignments it changes, in one line."`

		Findings         []Finding    `json:"findings" doc:"What kalypso validate finds with the edits, what is new first; the first 1000."`
		PolicyTests      PolicyTests  `json:"policyTests"`
		MassRemoval      *MassRemoval `json:"massRemoval,omitempty" doc:"There where most assignments would go: a proposal has to confirm it by the environment's name."`
		UnchangedBecause string       `json:"unchangedBecause,omitempty" doc:"Why nothing changes, where nothing does."`
	}
	// PlanSource is what changes in the control plane.
	PlanSource struct {
		Files []FileChange `json:"files"`
	}
	// FileChange is a file that changes.
	FileChange struct {
		Path        string `json:"path"`
		Change      string `json:"change" enum:"added,changed,removed"`
		ClusterType string `json:"clusterType,omitempty" doc:"Whose folder it is in."`
		Target      string `json:"target,omitempty" doc:"Whose folder it is in."`
		Diff        string `json:"diff" doc:"Unified, as kalypso plan prints it; empty where it is to be asked for by file."`
	}
	// Reassignments are the deployment targets on cluster types that change.
	Reassignments struct {
		Gained  []Assignment `json:"gained"`
		Lost    []Assignment `json:"lost"`
		Changed []Assignment `json:"changed" doc:"That stay, with other policies, configuration or files."`
		// Of a large fleet the lists have the first 1000; these are all.
		GainedCount  int `json:"gainedCount"`
		LostCount    int `json:"lostCount"`
		ChangedCount int `json:"changedCount"`
		Same         int `json:"same" doc:"How many do not change."`
	}
	// Assignment is a deployment target on a cluster type.
	Assignment struct {
		ClusterType  string   `json:"clusterType"`
		Target       string   `json:"target"`
		Workload     string   `json:"workload"`
		Workspace    string   `json:"workspace"`
		Policies     []string `json:"policies" doc:"That assign it; of a lost one, those that did."`
		Clusters     []string `json:"clusters" doc:"Of that type, by name; 50 at most."`
		ClusterCount int      `json:"clusterCount" doc:"How many clusters are of that type."`
	}
	// ConfigChange is a key of an assignment's platform configuration that changes.
	ConfigChange struct {
		ClusterType string  `json:"clusterType"`
		Target      string  `json:"target"`
		Key         string  `json:"key"`
		Before      *string `json:"before,omitempty" doc:"Absent where there was none."`
		After       *string `json:"after,omitempty" doc:"Absent where there will be none."`
		Place       string  `json:"place" doc:"File and line of the ConfigMap that gives the value, or gave it."`
	}
	// Finding is something wrong or doubtful with the edits.
	Finding struct {
		Rule     string `json:"rule"`
		Severity string `json:"severity" enum:"error,warning,note"`
		Place    string `json:"place" doc:"Repository, branch, file and line, as far as they are known."`
		File     string `json:"file,omitempty" doc:"Path in the repository."`
		Line     int    `json:"line,omitempty"`
		Message  string `json:"message"`
		Hint     string `json:"hint,omitempty"`
		New      bool   `json:"new" doc:"It is not there without the edits."`
	}
	// PolicyTests are the results of the control plane's policy tests.
	PolicyTests struct {
		Passed int          `json:"passed"`
		NotRun int          `json:"notRun" doc:"Those of files with mistakes."`
		Failed []FailedTest `json:"failed"`
	}
	// FailedTest is a policy test that does not hold with the edits.
	FailedTest struct {
		Name    string `json:"name"`
		Place   string `json:"place"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	// MassRemoval is the removal of most assignments.
	MassRemoval struct {
		Count int `json:"count" doc:"How many assignments go."`
		Of    int `json:"of" doc:"How many there are on the GitOps branch."`
	}
)

const (
	// maxListed is how many assignments, and how many values, a plan lists.
	maxListed = 1000
	// maxDiffs is of how many files a plan has the differences.
	maxDiffs = 500
	// maxClusters is how many clusters an assignment names.
	maxClusters = 50
)

// Request asks for a plan.
type Request struct {
	User        string // whose plan it is
	Environment string
	Base        string // the commit that the user has seen; "" for none
	Edits       []edit.Edit
	Against     string   // one of Againsts
	Files       []string // of which the plan has the differences; none for all, to a limit
	Current     bool     // ask the forge for the branch, and not what is known of it
	Fleet       Fleet    // nil where no clusters are known
	// Workspaces are those whose registrations alone the user may see; none for all.
	Workspaces []string
}

// Made is a plan with what it was made of.
type Made struct {
	Plan        Plan
	Environment Environment
	Edits       []edit.Edit

	site    *site
	configs []model.PlatformConfig // before and after
}

// Plan makes a plan. The error is an [*edit.Error] where an edit cannot be made, and wraps
// store.ErrNotFound for an environment that there is not. A model that the edits break is no
// error: what is wrong is in the findings.
func (p *Planner) Plan(ctx context.Context, r Request) (*Made, error) {
	release, err := p.acquire(ctx, r.User)
	if err != nil {
		return nil, err
	}
	defer release()
	e, err := p.platform.Environment(ctx, r.Environment, r.Current)
	if err != nil {
		return nil, err
	}
	if err := e.inScope(ctx, r.Edits, r.Workspaces); err != nil {
		return nil, err
	}
	s, err := e.locate(ctx, r.Edits)
	if err != nil {
		return nil, err
	}
	kept, leave, err := p.of(ctx, e.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	before, err := kept.before(ctx, e)
	if err != nil {
		return nil, err
	}
	after := before
	if len(s.planned) > 0 {
		after, err = kept.come(ctx, e, overlay{e.Reader, s.read, with(s.tree, s.planned)})
		if err != nil {
			return nil, err
		}
	}
	made := &Made{Environment: e, Edits: r.Edits, site: s, configs: slices.Concat(before.model.Configs, after.model.Configs)}
	made.Plan = Plan{
		Environment: e.Name, Against: r.Against, ControlPlane: redact.URL(s.ref.Repo), Branch: s.ref.Branch,
		Base: s.head.Commit, Head: s.head.Commit, Changed: len(s.changed) > 0,
	}
	if r.Base != "" && r.Base != s.head.Commit {
		made.Plan.Base, made.Plan.Stale, made.Plan.Moved = r.Base, true, p.platform.Ahead(ctx, s.ref, s.head.Commit, r.Base)
	}
	return made, made.Plan.fill(ctx, r, made, before, after)
}

// fill adds what the edits change.
func (d *Plan) fill(ctx context.Context, r Request, made *Made, before, after outcome) error {
	clusters, running := map[string][]string{}, map[Pair]bool{}
	var err error
	if r.Fleet != nil {
		if clusters, err = r.Fleet.ByType(ctx, r.Environment); err != nil {
			return err
		}
	}
	if r.Against == Running {
		if r.Fleet == nil {
			return errors.New("no clusters are known here, against which to compare")
		}
		if running, err = r.Fleet.Running(ctx, r.Environment); err != nil {
			return err
		}
	}
	found := compare(r.Against, before, after, running)
	d.Source.Files = []FileChange{}
	for _, c := range changes(made.site.head, made.site.changed) {
		d.Source.Files = append(d.Source.Files, fileChange(c, made.site.head.Files[c.Path]))
	}
	shown := view.Plan{Plan: after.plan, Model: after.model, Before: filesOf(after.gitOps)}
	d.Files = files(found.files, shown, r.Files)
	d.FileCount = len(found.files)
	d.Summary = summary(found).String()

	described := func(pairs []Pair) []Assignment {
		list := []Assignment{}
		for _, pair := range pairs[:min(len(pairs), maxListed)] {
			list = append(list, assignment(pair, found, before, after, clusters[pair.ClusterType]))
		}
		return list
	}
	d.Assignments = Reassignments{
		Gained: described(found.gained), Lost: described(found.lost), Changed: described(found.stays),
		GainedCount: len(found.gained), LostCount: len(found.lost), ChangedCount: len(found.stays), Same: found.same,
	}
	d.Configuration = found.values[:min(len(found.values), maxListed)]
	d.Findings = findings(before.report, after.report)
	d.PolicyTests = policyTests(after.report)
	if removed, of, held := publish.Removals(after.plan, filesOf(after.gitOps)); held {
		// what goes anyway needs no other confirmation
		if already, _, _ := publish.Removals(before.plan, filesOf(before.gitOps)); removed > already {
			d.MassRemoval = &MassRemoval{removed, of}
		}
	}
	if !d.Changed || len(found.files)+len(found.gained)+len(found.lost)+len(found.stays) == 0 {
		d.UnchangedBecause, err = unchanged(ctx, made, after, r.Workspaces)
	}
	return err
}

var changeWords = map[plan.Action]string{plan.Add: "added", plan.Modify: "changed", plan.Remove: "removed"}

func fileChange(c plan.Change, before []byte) FileChange {
	return FileChange{Path: c.Path, Change: changeWords[c.Action], Diff: view.Patch(c, before)}
}

// files are the documents of changed files, of some when they are named.
func files(changed []change, shown view.Plan, named []string) []FileChange {
	all := []FileChange{}
	for _, c := range changed {
		if len(named) > 0 && !slices.Contains(named, c.Path) {
			continue
		}
		f := FileChange{Path: c.Path, Change: changeWords[c.Action]}
		if len(named) > 0 || len(changed) <= maxDiffs {
			f = fileChange(c.Change, c.before)
		}
		f.ClusterType, f.Target = shown.Owner(c.Path)
		all = append(all, f)
	}
	return all
}

func summary(d difference) view.Summary {
	s := view.Summary{Assignments: len(d.gained) + len(d.lost) + len(d.stays)}
	for _, c := range d.files {
		switch c.Action {
		case plan.Add:
			s.Add++
		case plan.Modify:
			s.Modify++
		default:
			s.Remove++
		}
	}
	return s
}

// assignment describes a pair as it will be, or was where it goes.
func assignment(pair Pair, d difference, before, after outcome, clusters []string) Assignment {
	a := Assignment{ClusterType: pair.ClusterType, Target: pair.Target, Policies: []string{}, Clusters: []string{}, ClusterCount: len(clusters)}
	a.Clusters = append(a.Clusters, clusters[:min(len(clusters), maxClusters)]...)
	planned, ok := d.after[pair]
	if !ok {
		planned = d.before[pair]
	}
	a.Policies = append(a.Policies, planned.Policies...)
	for _, o := range []outcome{after, before} {
		i := slices.IndexFunc(o.plan.Targets, func(t plan.Target) bool { return t.Name == pair.Target })
		if i >= 0 {
			a.Workload, a.Workspace = o.plan.Targets[i].Workload, o.plan.Targets[i].Workspace
			break
		}
	}
	return a
}

// findings are those with the edits. Whether one is new, its fingerprint says.
func findings(before, after validate.Report) []Finding {
	known := map[string]bool{}
	for _, f := range before.Findings {
		known[f.Fingerprint] = true
	}
	all := []Finding{}
	for _, f := range after.Findings {
		all = append(all, Finding{
			Rule: f.Rule, Severity: string(f.Severity), Place: f.Position.String(), File: f.Position.File, Line: f.Position.Line,
			Message: redact.Text(f.Message), Hint: redact.Text(f.Hint), New: !known[f.Fingerprint],
		})
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(order(a), order(b)) })
	return all[:min(len(all), maxListed)]
}

// order has what the edits bring first.
func order(f Finding) int {
	if f.New {
		return 0
	}
	return 1
}

func policyTests(r validate.Report) PolicyTests {
	t := PolicyTests{Passed: r.Summary.TestsPassed, NotRun: r.Summary.TestsNotRun, Failed: []FailedTest{}}
	for _, result := range r.Tests {
		for _, f := range result.Failures {
			t.Failed = append(t.Failed, FailedTest{Name: result.Name, Place: f.Position.String(), Message: redact.Text(f.Message), Hint: redact.Text(f.Reason)})
		}
	}
	return t
}
