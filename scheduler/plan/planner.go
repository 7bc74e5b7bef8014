package plan

import (
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Planner plans one environment again and again, and works out only those
// assignments whose inputs have changed since the plan before. Its plans are
// those of [New]. The zero Planner is ready; it may be used by several
// goroutines, which then wait for each other.
type Planner struct {
	mu      sync.Mutex
	results map[digest]result // of the last plan

	produced int // assignments worked out for the last plan
}

// New is [New] with a memory.
func (p *Planner) New(env *model.Environment, gitops *model.Tree) *Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	targets := targetsOf(env)
	pairs := assign(env.Policies, env.ClusterTypes, targets)
	inputs := inputsOf(env)
	renderer := newRenderer()
	results := make([]result, len(pairs))
	known := make(map[digest]result, len(pairs))
	p.produced = 0
	for i, pair := range pairs {
		key := inputs.key(pair)
		r, found := p.results[key]
		if !found {
			r = produce(env, pair, renderer)
			p.produced++
		}
		results[i], known[key] = r, r
	}
	p.results = known
	return build(env, gitops, targets, pairs, results)
}

type digest = [sha256.Size]byte

// inputs holds the digests of all objects that assignments are made from.
type inputs struct {
	env       *model.Environment
	configs   []digest
	schemas   []digest
	templates digest // of all: an unknown name's hint mentions others
}

func inputsOf(env *model.Environment) inputs {
	in := inputs{env: env}
	for _, object := range env.Configs {
		in.configs = append(in.configs, object.Digest())
	}
	for _, object := range env.ConfigSchemas {
		in.schemas = append(in.schemas, object.Digest())
	}
	all := sha256.New()
	for _, object := range env.Templates {
		write(all, object.Digest())
	}
	in.templates = digest(all.Sum(nil))
	return in
}

// key identifies all that an assignment depends on: what it says and, because
// problems and sources have positions, where it stands.
func (in inputs) key(p pair) digest {
	h := sha256.New()
	s := p.subject()
	fmt.Fprintf(h, "%q %q", in.env.Name, p.target.Name)
	write(h, in.templates)
	write(h, p.clusterType.Digest())
	write(h, p.target.digest)
	for i, object := range in.env.Configs {
		if s.matches(object.Labels) {
			write(h, in.configs[i])
		}
	}
	h.Write([]byte("schemas"))
	for i, object := range in.env.ConfigSchemas {
		if s.matches(object.Labels) {
			write(h, in.schemas[i])
		}
	}
	for _, twin := range p.target.twins {
		fmt.Fprintf(h, "%q", twin)
	}
	return digest(h.Sum(nil))
}

// write adds to a hash, which does not fail.
func write(h io.Writer, d digest) {
	h.Write(d[:])
}
