package plan

import (
	"context"
	"slices"
	"strings"
)

// maxFiles is how many files an assignment has.
const maxFiles = 3

// maxNamespace is how long a namespace's name may be.
const maxNamespace = 63

// result is what one assignment needs on the branch, or why it cannot have it.
type result struct {
	config   []ConfigValue
	files    []file    // sorted by name
	problems []Problem // errors; then files count for nothing

	room [maxFiles]file // of files
}

// file is one of an assignment's files.
type file struct {
	name    string // in the assignment's folder
	content []byte
}

// failed says whether the assignment must stay as it is.
func (r *result) failed() bool {
	return len(r.problems) > 0
}

// produce works out one assignment. All it depends on is what [state.row]
// compares, so that nothing else makes it necessary again. When ctx ends the
// result is not complete.
func (s *state) produce(ctx context.Context, w *worker, j job) {
	c := &j.row.cells[j.cell]
	r := &result{}
	c.result = r
	conf := s.configurations.of(c.pair, j.row.words, c.target.words)
	r.config = conf.values
	r.problems = append(r.problems, nameProblems(c.pair)...)
	r.problems = append(r.problems, j.row.unknown...)
	if len(conf.unreadable) > 0 {
		// Whatever else is wrong may be so for want of what cannot be read.
		r.problems = append(r.problems, conf.unreadable...)
	} else {
		check := func(text string) ([]finding, error) { return conf.check(text, &s.configurations.compiled) }
		r.problems = append(r.problems, validate(ctx, c.target.schemas, conf.values, check)...)
		r.problems = append(r.problems, validate(ctx, conf.schemas, conf.values, check)...)
		if len(c.target.unfit) == 0 {
			s.render(ctx, w, j, conf, r)
		}
	}
	if !r.failed() {
		slices.SortFunc(r.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
		return
	}
	r.files = nil
	r.problems = slices.Clone(r.problems) // the row's own are shared
	for i := range r.problems {
		r.problems[i].ClusterType = c.clusterType.Name
		r.problems[i].Target = c.target.Name
	}
}

// render makes an assignment's files.
func (s *state) render(ctx context.Context, w *worker, j job, conf *configuration, r *result) {
	c := &j.row.cells[j.cell]
	data := &subjectData{
		renderData: renderData{
			DeploymentTargetName: c.target.Name,
			Namespace:            namespaceOf(s.env.Name, c.pair),
			Environment:          s.env.Name,
			Workspace:            c.target.Workspace,
			Workload:             c.target.Workload,
			Labels:               c.target.Labels,
			Manifests:            c.target.manifests,
			ClusterType:          c.clusterType.Name,
			ConfigData:           conf.data,
		},
		target:        c.target.id,
		configuration: conf.id,
		config:        conf.values,
		source:        c.target,
	}
	r.files = r.room[:0]
	for _, u := range j.row.uses {
		if ctx.Err() != nil {
			return
		}
		content, problems := w.file(u.template, data)
		r.problems = append(r.problems, problems...)
		if len(content) > 0 {
			r.files = append(r.files, file{u.file, content})
		}
	}
}
