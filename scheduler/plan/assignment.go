package plan

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	maxFiles     = 3  // of an assignment
	maxNamespace = 63 // characters of a namespace's name
)

// result is what one assignment needs on the branch, or why it cannot have it.
type result struct {
	config   []ConfigValue
	files    []file    // sorted by name
	problems []Problem // errors; then files count for nothing

	fileArray [maxFiles]file // of files
}

type file struct {
	name    string // in the assignment's folder
	content []byte
}

// failed says whether the assignment must stay as it is.
func (r *result) failed() bool { return len(r.problems) > 0 }

// compute works out one assignment. All it depends on is what [state.row]
// compares, so that nothing else makes it necessary again. When ctx ends the
// result is not complete.
func (s *state) compute(ctx context.Context, w *worker, j job) {
	c := &j.row.cells[j.cell]
	r := &result{}
	c.result = r
	conf := s.configurations.of(c.pair, j.row.offered, c.target.offered)
	r.config = conf.values
	r.problems = append(r.problems, nameProblems(c.pair)...)
	r.problems = append(r.problems, j.row.unknown...)
	if len(conf.unreadable) > 0 {
		// What is missing for anything else may be in what cannot be read.
		r.problems = append(r.problems, conf.unreadable...)
	} else {
		check := func(text string) ([]configvalue.Finding, error) { return conf.check(text, &s.configurations.compiled) }
		wrong := append(validate(ctx, c.target.schemas, conf.values, check), validate(ctx, conf.schemas, conf.values, check)...)
		r.problems = append(r.problems, c.pair.provided(wrong, conf.values, s.env.ControlPlane)...)
		if len(c.target.badTexts) == 0 {
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

func (s *state) render(ctx context.Context, w *worker, j job, conf *configuration, r *result) {
	c := &j.row.cells[j.cell]
	w.data = assignmentData{
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
	r.files = r.fileArray[:0]
	for _, u := range j.row.uses {
		if ctx.Err() != nil {
			return
		}
		content, problems := w.file(u.template, &w.data)
		r.problems = append(r.problems, problems...)
		if len(content) > 0 {
			r.files = append(r.files, file{u.file, content})
		}
	}
}

// schema is a JSON schema and where it was written.
type schema struct {
	text     string
	position model.Position
}

func schemaOf(object model.ConfigSchema) schema {
	return schema{text: object.Spec.Schema, position: object.At("spec", "schema")}
}

// validate checks a composed configuration against schemas. Each finding is
// one problem: at the value that is wrong, or for one that is not there at the
// schema that asks for it. When ctx ends they are not complete.
func validate(ctx context.Context, schemas []schema, config []ConfigValue, check func(text string) ([]configvalue.Finding, error)) []Problem {
	var problems []Problem
	for _, s := range schemas {
		if ctx.Err() != nil {
			break
		}
		findings, err := check(s.text)
		if err != nil {
			problems = append(problems, newProblem(model.Error, InvalidSchema, s.position, "correct the schema; it must be JSON schema",
				"the configuration schema cannot be used: %s", err))
			continue
		}
		for _, f := range findings {
			problems = append(problems, problemOf(f, s, config))
		}
	}
	return problems
}

// problemOf returns a finding at the value that is wrong, or at the schema that asks
// for a missing one, which is without a hint then.
func problemOf(f configvalue.Finding, s schema, config []ConfigValue) Problem {
	p := Problem{
		Reason:   InvalidConfig,
		Severity: model.Error,
		Position: s.position,
		Schema:   s.position,
		Message:  f.Text,
	}
	if len(f.Path) == 0 {
		return p
	}
	if v, ok := valueOf(config, f.Path[0]); ok {
		sources := v.sourcesAt(f.Path[1:])
		p.Position = sources[len(sources)-1].Position
		p.Hint = origin(v.Key, sources)
	}
	return p
}

// provided says of a missing value where it belongs: in a ConfigMap of the
// environment's branch that applies to the pair.
func (p pair) provided(problems []Problem, config []ConfigValue, branch model.Reference) []Problem {
	if len(problems) == 0 { // as nearly always
		return nil
	}
	name, at := "", model.Position{Repo: redact.URL(branch.Repo), Branch: branch.Branch}
	for _, v := range config {
		for _, s := range v.Sources {
			own := s.Position.Repo == at.Repo && s.Position.Branch == branch.Branch && !strings.HasPrefix(s.ConfigMap, model.AppConfigPrefix)
			if own && s.ConfigMap >= name {
				name, at = s.ConfigMap, s.Position
			}
		}
	}
	hint := fmt.Sprintf("a ConfigMap on branch %s with the labels platform-config: \"true\" and cluster-type: %s", branch.Branch, p.clusterType.Name)
	if name == "" {
		hint = "provide it in " + hint
	} else {
		hint = fmt.Sprintf("provide it in ConfigMap %s, which applies here, or in %s", name, hint)
	}
	for i := range problems {
		if problems[i].Reason == InvalidConfig && problems[i].Hint == "" {
			problems[i].Hint, problems[i].Fix = hint, at
		}
	}
	return problems
}

// configuration is what an assignment gets from ConfigMaps and schemas that
// match it. It is shared by all assignments that the same ones match.
type configuration struct {
	*composed
	schemas    []schema  // of the matching ConfigSchemas
	unreadable []Problem // of the matching ConfigMaps
}

// composed is a composition with what has been found out about it.
type composed struct {
	composition
	id int64 // no other composition of the planner has it

	mu      sync.Mutex
	checked map[string]verdict // by schema text
}

type verdict struct {
	findings []configvalue.Finding
	err      error
}

func (c *composed) check(text string, compiled *compiledSchemas) ([]configvalue.Finding, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.checked[text]
	if !known {
		found = compiled.check(c.data, text)
		if c.checked == nil {
			c.checked = map[string]verdict{}
		}
		c.checked[text] = found
	}
	return found.findings, found.err
}

// compiledSchemas keeps schemas that have been read, which takes longer than
// to check with them.
type compiledSchemas struct{ byText memo[string, compiledSchema] }

type compiledSchema struct {
	schema *configvalue.Schema
	err    error
}

func (c *compiledSchemas) check(data map[string]any, text string) (v verdict) {
	known := c.byText.get(text)
	compiled := &known.value
	known.Do(func() { compiled.schema, compiled.err = configvalue.Compile(text) })
	if compiled.err != nil {
		return verdict{err: compiled.err}
	}
	v.findings, v.err = compiled.schema.Check(data)
	return v
}

// memo has a value for each key, which is made once by whichever goroutine asks first.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]*made[V]
}

type made[V any] struct {
	sync.Once
	value V
}

// get returns what is made within its Do. A function to make it would be allocated by
// every call.
func (m *memo[K, V]) get(key K) *made[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.made[key]
	if known == nil {
		if m.made == nil {
			m.made = map[K]*made[V]{}
		}
		known = &made[V]{}
		m.made[key] = known
	}
	return known
}

// configurations makes the configurations of one state of an environment's
// ConfigMaps and schemas.
type configurations struct {
	configs []model.PlatformConfig
	schemas []model.ConfigSchema
	index   *labelIndex
	id      func() int64 // a new one each time

	compiled compiledSchemas
	byLabels memo[[2]int, configuration]
	made     memo[string, composed] // by the numbers of the ConfigMaps
}

func newConfigurations(env *model.Environment, id func() int64) *configurations {
	return &configurations{
		configs: env.Configs,
		schemas: env.ConfigSchemas,
		index:   newLabelIndex(env.Configs, env.ConfigSchemas),
		id:      id,
	}
}

// same says whether an environment has these ConfigMaps and schemas still.
func (c *configurations) same(env *model.Environment) bool {
	return c != nil &&
		slices.EqualFunc(c.configs, env.Configs, model.PlatformConfig.Same) &&
		slices.EqualFunc(c.schemas, env.ConfigSchemas, model.ConfigSchema.Same)
}

// of returns the configuration of a pair whose cluster type and target offer
// these labels.
func (c *configurations) of(p pair, clusterType, target *labelSet) *configuration {
	known := c.byLabels.get([2]int{clusterType.id, target.id})
	made := &known.value
	known.Do(func() {
		matching := c.index.configs.matching(clusterType, target)
		made.composed = c.compose(p, clusterType, target, matching)
		for _, i := range matching {
			made.unreadable = append(made.unreadable, unreadableProblems(c.configs[i])...)
		}
		for _, i := range c.index.schemas.matching(clusterType, target) {
			made.schemas = append(made.schemas, schemaOf(c.schemas[i]))
		}
	})
	return made
}

func (c *configurations) compose(p pair, clusterType, target *labelSet, numbers []int32) *composed {
	var key []byte
	var matching []model.PlatformConfig
	for _, i := range numbers {
		matching = append(matching, c.configs[i])
		key = binary.LittleEndian.AppendUint32(key, uint32(i))
		if c.index.configs.all[i].keyed {
			key = binary.LittleEndian.AppendUint32(key, uint32(clusterType.id))
			key = binary.LittleEndian.AppendUint32(key, uint32(target.id))
		}
	}
	known := c.made.get(string(key))
	known.Do(func() { known.value.composition, known.value.id = compose(matching, p), c.id() })
	return &known.value
}
