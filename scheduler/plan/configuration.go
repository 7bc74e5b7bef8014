package plan

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

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

// verdict is what check found.
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

// compiledSchema is a schema with the meter that it charges, which is why one
// configuration at a time is checked with it.
type compiledSchema struct {
	mu     sync.Mutex
	meter  meter
	schema *jsonschema.Schema
	err    error
}

func (c *compiledSchemas) check(data map[string]any, text string) (v verdict) {
	c.mu.Lock()
	compiled, known := c.byText[text]
	if !known {
		compiled = &compiledSchema{}
		compiled.schema, compiled.err = compile(text, &compiled.meter)
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
	v.findings, v.err = check(data, compiled.schema, &compiled.meter)
	return v
}

// configurations makes the configurations of one state of an environment's
// ConfigMaps and schemas.
type configurations struct {
	configs    []model.PlatformConfig
	schemas    []model.ConfigSchema
	vocabulary *vocabulary
	id         func() int64 // a new one each time; called by one goroutine at a time

	compiled compiledSchemas

	mu      sync.Mutex
	byWords map[[2]int]*configuration
	made    map[string]*composed // by the numbers of the ConfigMaps
}

func newConfigurations(env *model.Environment, id func() int64) *configurations {
	return &configurations{
		configs:    env.Configs,
		schemas:    env.ConfigSchemas,
		vocabulary: newVocabulary(env.Configs, env.ConfigSchemas),
		id:         id,
		byWords:    map[[2]int]*configuration{},
		made:       map[string]*composed{},
	}
}

// same says whether an environment has these ConfigMaps and schemas still.
func (c *configurations) same(env *model.Environment) bool {
	return c != nil &&
		slices.EqualFunc(c.configs, env.Configs, model.PlatformConfig.Same) &&
		slices.EqualFunc(c.schemas, env.ConfigSchemas, model.ConfigSchema.Same)
}

// of returns the configuration of a pair whose cluster type and target offer
// these words.
func (c *configurations) of(p pair, clusterType, target *wordSet) *configuration {
	key := [2]int{clusterType.id, target.id}
	c.mu.Lock()
	known := c.byWords[key]
	if known == nil {
		known = &configuration{}
		c.byWords[key] = known
	}
	c.mu.Unlock()
	known.once.Do(func() {
		matching := c.vocabulary.configs.matching(clusterType, target)
		known.composed = c.compose(p, clusterType, target, matching)
		for _, i := range matching {
			known.unreadable = append(known.unreadable, unreadableProblems(c.configs[i])...)
		}
		for _, i := range c.vocabulary.schemas.matching(clusterType, target) {
			known.schemas = append(known.schemas, schemaOf(c.schemas[i]))
		}
	})
	return known
}

func (c *configurations) compose(p pair, clusterType, target *wordSet, numbers []int32) *composed {
	var key []byte
	var matching []model.PlatformConfig
	for _, i := range numbers {
		matching = append(matching, c.configs[i])
		key = binary.LittleEndian.AppendUint32(key, uint32(i))
		if c.vocabulary.configs.all[i].keyed {
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
	known.once.Do(func() { known.composition = compose(matching, p.subject()) })
	return known
}
