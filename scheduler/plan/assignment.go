package plan

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
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

// file is one of an assignment's files.
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
		check := func(text string) ([]finding, error) { return conf.check(text, &s.configurations.compiled) }
		r.problems = append(r.problems, validate(ctx, c.target.schemas, conf.values, check)...)
		r.problems = append(r.problems, validate(ctx, conf.schemas, conf.values, check)...)
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

// render makes an assignment's files.
func (s *state) render(ctx context.Context, w *worker, j job, conf *configuration, r *result) {
	c := &j.row.cells[j.cell]
	data := &assignmentData{
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
		content, problems := w.file(u.template, data)
		r.problems = append(r.problems, problems...)
		if len(content) > 0 {
			r.files = append(r.files, file{u.file, content})
		}
	}
}

// configuration is what an assignment gets from ConfigMaps and schemas that
// match it. It is shared by all assignments that the same ones match.
type configuration struct {
	once sync.Once
	*composed
	schemas    []schema  // of the matching ConfigSchemas
	unreadable []Problem // of the matching ConfigMaps
}

// composed is a composition with what has been found out about it.
type composed struct {
	once sync.Once
	composition
	id int64 // no other composition of the planner has it

	mu      sync.Mutex
	checked map[string]verdict // by schema text
}

// verdict is the result of checking with a schema.
type verdict struct {
	findings []finding
	err      error
}

// check checks the composition with a schema, once.
func (c *composed) check(text string, compiled *compiledSchemas) ([]finding, error) {
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
type compiledSchemas struct {
	mu     sync.Mutex
	byText map[string]*compiledSchema
}

// compiledSchema is a schema with the budget that it charges, so that it checks one
// configuration at a time.
type compiledSchema struct {
	mu     sync.Mutex
	budget validationBudget
	schema *jsonschema.Schema
	err    error
}

func (c *compiledSchemas) check(data map[string]any, text string) (v verdict) {
	c.mu.Lock()
	compiled, known := c.byText[text]
	if !known {
		compiled = &compiledSchema{}
		compiled.schema, compiled.err = compile(text, &compiled.budget)
		if c.byText == nil {
			c.byText = map[string]*compiledSchema{}
		}
		c.byText[text] = compiled
	}
	c.mu.Unlock()
	if compiled.err != nil {
		return verdict{err: compiled.err}
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	v.findings, v.err = check(data, compiled.schema, &compiled.budget)
	return v
}

// configurations makes the configurations of one state of an environment's
// ConfigMaps and schemas.
type configurations struct {
	configs []model.PlatformConfig
	schemas []model.ConfigSchema
	index   *labelIndex
	id      func() int64 // a new one each time; called by one goroutine at a time

	compiled compiledSchemas

	mu       sync.Mutex
	byLabels map[[2]int]*configuration
	made     map[string]*composed // by the numbers of the ConfigMaps
}

func newConfigurations(env *model.Environment, id func() int64) *configurations {
	return &configurations{
		configs:  env.Configs,
		schemas:  env.ConfigSchemas,
		index:    newLabelIndex(env.Configs, env.ConfigSchemas),
		id:       id,
		byLabels: map[[2]int]*configuration{},
		made:     map[string]*composed{},
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
	key := [2]int{clusterType.id, target.id}
	c.mu.Lock()
	known := c.byLabels[key]
	if known == nil {
		known = &configuration{}
		c.byLabels[key] = known
	}
	c.mu.Unlock()
	known.once.Do(func() {
		matching := c.index.configs.matching(clusterType, target)
		known.composed = c.compose(p, clusterType, target, matching)
		for _, i := range matching {
			known.unreadable = append(known.unreadable, unreadableProblems(c.configs[i])...)
		}
		for _, i := range c.index.schemas.matching(clusterType, target) {
			known.schemas = append(known.schemas, schemaOf(c.schemas[i]))
		}
	})
	return known
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
	c.mu.Lock()
	known := c.made[string(key)]
	if known == nil {
		known = &composed{id: c.id()}
		c.made[string(key)] = known
	}
	c.mu.Unlock()
	known.once.Do(func() { known.composition = compose(matching, p) })
	return known
}
