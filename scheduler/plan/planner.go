package plan

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Planner plans one environment again and again, and computes only what has
// changed since the plan before, by [model.Object.Same]: environments must come
// from one [model.Loader], and must not be changed by hand. Its plans are
// those of [New]. The zero Planner is ready; several goroutines may use it, one
// after the other.
type Planner struct {
	mu   sync.Mutex
	last state

	prerendered prerenderCache
	lastID      atomic.Int64

	computed int // assignments for the last plan
}

// state is what a plan was made from, step by step.
type state struct {
	env            *model.Environment
	policies       *policies
	targets        *targetSet
	selection      *selection
	templates      *templates
	configurations *configurations
	branch         *branch
	rows           map[string]*row // by cluster type
}

// New is [New] with what the plan before computed. What was computed before ctx
// ended is dropped.
func (p *Planner) New(ctx context.Context, env *model.Environment, gitops *model.Tree) (*Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.last.env; old != nil && old.Name != env.Name {
		p.last = state{}
	}
	old := &p.last
	now := &state{env: env, policies: old.policies, configurations: old.configurations}
	if !now.policies.same(env.Policies) {
		now.policies = readPolicies(env.Name, env.Policies)
	}
	if !now.configurations.same(env) {
		now.configurations = newConfigurations(env, p.id)
	}
	now.targets = old.targets.next(env, p.id)
	now.templates = old.templates.next(env, p.id)
	now.branch = old.branch.next(env, gitops)
	now.selection = selectTargets(ctx, now.policies, now.targets.sorted, old.selection)
	now.rows = p.fill(ctx, now, old)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("planning environment %s: %w", env.Name, context.Cause(ctx))
	}
	p.last = *now
	return now.plan(), nil
}

// id returns a number that has not been given yet.
func (p *Planner) id() int64 { return p.lastID.Add(1) }

// row is all assignments on one cluster type. Once made it does not change.
type row struct {
	clusterType model.ClusterType
	admitting   []int32 // the numbers of the policies that select the cluster type
	uses        []use
	unknown     []Problem // templates that are not there
	mistyped    []Problem // templates that are there, and made for something else
	offered     *labelSet
	indexedBy   *labelIndex
	cells       []cell // sorted by target

	folder *folder // of the branch, see output
	output
}

type cell struct {
	pair
	result *result
}

// job is a cell that is to be computed.
type job struct {
	row  *row
	cell int
}

// fill makes the rows of all cluster types, and takes from the rows before
// whatever cannot have changed. When ctx ends they are not complete.
func (p *Planner) fill(ctx context.Context, now, old *state) map[string]*row {
	changes := changesOf(now.configurations, old.configurations)
	clusterTypes := now.env.ClusterTypes
	all, todo := make([]*row, len(clusterTypes)), make([][]job, len(clusterTypes))
	inParallel(len(clusterTypes), func(i int) {
		if ctx.Err() != nil {
			return
		}
		all[i], todo[i] = now.row(&clusterTypes[i], old.rows[clusterTypes[i].Name], old, changes)
	})
	if ctx.Err() != nil {
		return nil
	}
	rows := make(map[string]*row, len(clusterTypes))
	var made []*row
	var jobs []job
	for i, r := range all {
		rows[r.clusterType.Name] = r
		jobs = append(jobs, todo[i]...)
		if r != old.rows[r.clusterType.Name] {
			made = append(made, r)
		}
	}
	p.computed = len(jobs)
	now.describe(jobs)
	inParallelWith(len(jobs), func() func(int) {
		w := &worker{renderer: newRenderer(), cache: &p.prerendered}
		return func(i int) {
			if ctx.Err() == nil {
				now.compute(ctx, w, jobs[i])
			}
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	inParallel(len(made), func(i int) { made[i].write(now.branch) })
	return rows
}

// row returns a cluster type's row, which is the one before when nothing can
// be different, and those of its cells that are still to be worked out.
func (s *state) row(clusterType *model.ClusterType, before *row, old *state, changes *changes) (*row, []job) {
	r := &row{clusterType: *clusterType}
	kept := before != nil && before.clusterType.Same(*clusterType)
	if kept && s.policies == old.policies {
		r.admitting = before.admitting
	} else {
		r.admitting = s.policies.admitting(clusterType)
	}
	if kept && s.templates == old.templates {
		r.uses, r.unknown, r.mistyped = before.uses, before.unknown, before.mistyped
	} else {
		r.uses, r.unknown, r.mistyped = s.templates.of(clusterType)
	}
	valid := kept && slices.Equal(r.uses, before.uses) && slices.Equal(r.unknown, before.unknown)
	choose := !kept || s.policies != old.policies ||
		slices.ContainsFunc(r.admitting, func(n int32) bool { return s.selection.changed[n] })
	affected := changes.on(clusterType)
	if valid && !choose && s.branch == old.branch && slices.Equal(r.mistyped, before.mistyped) &&
		(affected == nil || !slices.ContainsFunc(before.cells, func(c cell) bool { return affected(c.target) })) {
		return before, nil
	}
	r.folder = s.branch.folders[clusterType.Name]
	if kept {
		r.offered, r.indexedBy = before.offered, before.indexedBy
	}
	if choose {
		for _, pair := range s.selection.pairs(&r.clusterType, r.admitting) {
			r.cells = append(r.cells, cell{pair: pair})
		}
	} else {
		r.cells = slices.Clone(before.cells)
	}
	var jobs []job
	for i := range r.cells {
		c := &r.cells[i]
		c.clusterType = &r.clusterType
		switch {
		case !valid || affected != nil && affected(c.target):
			c.result = nil
		case choose:
			c.result = before.resultOf(c.target)
		}
		if c.result == nil {
			jobs = append(jobs, job{r, i})
		}
	}
	return r, jobs
}

func (r *row) cell(name string) (*cell, bool) {
	i, found := slices.BinarySearchFunc(r.cells, name, func(c cell, name string) int { return cmp.Compare(c.target.Name, name) })
	if !found {
		return nil, false
	}
	return &r.cells[i], true
}

// resultOf returns what is known of an assignment, nil for nothing.
func (r *row) resultOf(t *target) *result {
	if c, found := r.cell(t.Name); found && c.target == t {
		return c.result
	}
	return nil
}

// describe finds the label sets of all targets and cluster types that are worked
// on, before goroutines share them.
func (s *state) describe(jobs []job) {
	v := s.configurations.index
	var targets []*target
	for _, j := range jobs {
		if j.row.indexedBy != v {
			j.row.indexedBy, j.row.offered = v, v.ofClusterType(&j.row.clusterType)
		}
		if t := j.row.cells[j.cell].target; t.indexedBy != v {
			t.indexedBy = v
			targets = append(targets, t)
		}
	}
	inParallel(len(targets), func(i int) { targets[i].offered = v.ofTarget(targets[i]) })
}

// New plans an environment against the present content of its GitOps branch.
// A nil gitops, or one without files, is an empty branch. Neither argument is
// changed, and the plan's content must not be either.
//
// New decides and does nothing else: it reads no clock, no file and no
// network, and the same input gives the same plan, byte for byte. One
// assignment's trouble never stops another: it becomes a Problem, and that
// assignment's files stay as they are on the branch. The only error is that ctx
// has ended: then there is no plan.
func New(ctx context.Context, env *model.Environment, gitops *model.Tree) (*Plan, error) {
	return new(Planner).New(ctx, env, gitops)
}

func (s *state) plan() *Plan {
	p := &Plan{
		Policies:    make(map[string]model.Position, len(s.env.Policies)),
		Environment: s.env.Name,
		GitOps:      s.env.GitOps,
		Promoted:    s.env.Promoted,
		Incomplete:  s.env.Incomplete,
	}
	for _, policy := range s.env.Policies {
		p.Policies[policy.Name] = policy.Position
	}
	for _, base := range slices.Backward(s.env.BaseRepos) {
		if base.Spec.Commit == p.Promoted {
			p.BaseRepo = base.Spec.Repo
		}
	}
	if s.branch.tree != nil {
		p.GitOpsHead = s.branch.tree.Commit
	}
	if all := s.targets.sorted; len(all) > 0 {
		p.Targets = make([]Target, len(all))
		inParallel(len(all), func(i int) { p.Targets[i] = all[i].Target })
	}
	p.Problems = append(p.Problems, unassignedProblems(s)...)
	p.Problems = append(p.Problems, namespaceCollisions(s)...)
	outputs := s.outputs()
	var kept []string
	held := false
	for _, o := range outputs {
		p.Problems = append(p.Problems, o.problems...)
		kept = append(kept, o.kept...)
		held = held || o.held
	}
	p.Problems = append(p.Problems, environmentProblems(s.env, held || len(kept) > 0)...)
	if len(kept) > 0 {
		p.Problems = append(p.Problems, keptProblem(s.branch, kept))
	}
	slices.SortFunc(p.Problems, compareProblems)
	p.Problems = slices.Compact(p.Problems)
	if s.env.GitOps.Repo != "" {
		p.Changes = concat(outputs, func(o *output) []Change { return o.changes })
		p.files = func() map[string][]byte { return filesOf(outputs) }
	}
	byName := slices.SortedFunc(slices.Values(outputs), func(a, b *output) int { return strings.Compare(a.name, b.name) })
	p.Assignments = concat(byName, func(o *output) []Assignment { return o.assignments })
	return p
}

// concat puts lists together, of which a fleet has long ones.
func concat[T any](outputs []*output, list func(*output) []T) []T {
	ends := make([]int, len(outputs))
	n := 0
	for i, o := range outputs {
		n += len(list(o))
		ends[i] = n
	}
	if n == 0 {
		return nil
	}
	all := make([]T, n)
	inParallel(len(outputs), func(i int) {
		part := list(outputs[i])
		copy(all[ends[i]-len(part):], part)
	})
	return all
}

// outputs returns all folders that are wanted or were written before, in the
// order of their paths.
func (s *state) outputs() []*output {
	outputs := make([]*output, 0, len(s.rows)+1)
	for _, r := range s.rows {
		outputs = append(outputs, &r.output)
	}
	for name, f := range s.branch.folders {
		if s.rows[name] == nil {
			outputs = append(outputs, unplanned(s.branch, name, f))
		}
	}
	if s.env.Promoted != "" {
		outputs = append(outputs, promotion(s.branch, s.env.Promoted))
	}
	slices.SortFunc(outputs, func(a, b *output) int { return strings.Compare(a.path, b.path) })
	return outputs
}

// chunk is how many things a goroutine takes at a time.
const chunk = 16

// inParallel calls f for 0 to n-1, on all processors, in any order.
func inParallel(n int, f func(i int)) {
	inParallelWith(n, func() func(int) { return f })
}

// inParallelWith does the same with a function that each goroutine makes for
// itself.
func inParallelWith(n int, worker func() func(i int)) {
	var next atomic.Int64
	run := func() {
		f := worker()
		for {
			end := int(next.Add(chunk))
			for i := end - chunk; i < min(end, n); i++ {
				f(i)
			}
			if end >= n {
				return
			}
		}
	}
	var all sync.WaitGroup
	var mistake atomic.Pointer[any]
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) - 1 {
		all.Go(func() {
			// a panic belongs to the caller
			defer func() {
				if v := recover(); v != nil {
					mistake.Store(&v)
				}
			}()
			run()
		})
	}
	run()
	all.Wait()
	if v := mistake.Load(); v != nil {
		panic(*v)
	}
}
