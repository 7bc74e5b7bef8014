// Package progress says how much of a build is done and how long the rest takes.
//
// It measures work, not time: how many bytes of source are still to be compiled, of
// programs to be linked and of files to be packed, each with its weight. What is left
// takes as long as what is done has taken, in proportion.
package progress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Interval is how often a line says what goes on.
const Interval = 5 * time.Second

// known is which part of the work must be done before the time left is told: until then
// it is mostly the time of fetching, which depends on the network.
const known = 0.03

// A Tracker knows the work of one build. Its methods may be called at the same time,
// and do nothing on a nil Tracker.
type Tracker struct {
	mu      sync.Mutex
	parts   map[string]*part
	sources map[string]bool // what is compiled, by [Source.Key]
	doing   map[string]string
	since   time.Time // when the first work was done
	now     func() time.Time
}

// A part is some of the work, in bytes of source compiled.
type part struct{ planned, done float64 }

// New returns a Tracker that knows of no work yet.
func New() *Tracker {
	return &Tracker{parts: map[string]*part{}, sources: map[string]bool{}, doing: map[string]string{}, now: time.Now}
}

// Plan says how much work a part of the build is, in place of what was planned for it.
func (t *Tracker) Plan(name string, work float64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part(name).planned = work
}

func (t *Tracker) part(name string) *part {
	p := t.parts[name]
	if p == nil {
		p = &part{}
		t.parts[name] = p
	}
	return p
}

// Add says that so much of a part is done.
func (t *Tracker) Add(name string, work float64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(name, work)
}

func (t *Tracker) add(name string, work float64) {
	if t.since.IsZero() && work > 0 {
		t.since = t.now()
	}
	p := t.part(name)
	p.done = min(p.planned, p.done+work)
}

// Finish says that all of a part is done.
func (t *Tracker) Finish(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(name, t.part(name).planned)
}

// compiling is the part that all programs share: what one has compiled, others find.
const compiling = "compile"

// Compile plans to compile packages, each once for all programs, and returns how many
// of them no other has been planned to compile.
func (t *Tracker) Compile(packages []Source) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range packages {
		if _, planned := t.sources[s.Key]; !planned {
			t.sources[s.Key] = false
			t.part(compiling).planned += s.work()
		}
	}
}

// Compiled says that packages are compiled. Others were planned and not needed.
func (t *Tracker) Compiled(packages ...Source) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range packages {
		if done, planned := t.sources[s.Key]; planned && !done {
			t.sources[s.Key] = true
			t.add(compiling, s.work())
		}
	}
}

// Waiting counts those of the packages that are not compiled yet.
func (t *Tracker) Waiting(packages []Source) int {
	if t == nil {
		return len(packages)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, s := range packages {
		if !t.sources[s.Key] {
			n++
		}
	}
	return n
}

// Doing says what a component is being done to; "" for nothing any more.
func (t *Tracker) Doing(component, what string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if what == "" {
		delete(t.doing, component)
		return
	}
	t.doing[component] = what
}

// Follow calls say with a line in each interval in which anything goes on, until ctx
// ends or the returned function is called.
func (t *Tracker) Follow(ctx context.Context, say func(line string)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticks := time.NewTicker(Interval)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				if line := t.line(); line != "" {
					say(line)
				}
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// line is how far the build is and what goes on, "" for nothing.
func (t *Tracker) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.doing) == 0 {
		return ""
	}
	var all []string
	for _, component := range slices.Sorted(maps.Keys(t.doing)) {
		all = append(all, component+" "+t.doing[component])
	}
	share, left := t.left()
	percent := fmt.Sprintf("%2d%%", min(99, int(100*share)))
	if share >= known {
		percent += ", " + inWords(left)
	}
	return percent + ": " + strings.Join(all, "; ")
}

// left is which share of the work is done, and how long the rest takes.
func (t *Tracker) left() (share float64, left time.Duration) {
	var planned, done float64
	for _, p := range t.parts {
		planned, done = planned+p.planned, done+p.done
	}
	if planned == 0 || done == 0 {
		return 0, 0
	}
	took := t.now().Sub(t.since)
	return done / planned, time.Duration(float64(took) * (planned - done) / done)
}

func inWords(left time.Duration) string {
	if left < 50*time.Second {
		return fmt.Sprintf("about %d s left", max(5, int(left.Round(5*time.Second).Seconds())))
	}
	return fmt.Sprintf("about %d min left", max(1, int(left.Round(time.Minute).Minutes())))
}

// usual is the work of each component as it was in a build of all of them without a
// cache, in which what several are made of was compiled for the first of them: it
// counts until the component's own is known, after its modules are fetched.
var usual = map[string]struct {
	sources float64 // bytes of what is compiled
	packed  float64 // bytes of what is packed
	pages   float64 // that web pages take, in bytes of source compiled
}{
	"argocd":  {sources: 82e6, packed: 136e6, pages: 10e6},
	"flux":    {sources: 66e6, packed: 92e6},
	"gitea":   {sources: 83e6, packed: 135e6, pages: 5e6},
	"hubweb":  {pages: 2e6},
	"kube":    {sources: 104e6, packed: 165e6},
	"kwok":    {sources: 45e6, packed: 55e6},
	"node":    {sources: 21e6, packed: 123e6},
	"relay":   {sources: 8e6, packed: 3e6},
	"runner":  {sources: 23e6, packed: 15e6},
	"samples": {packed: 16e6},
}

// Pages is the part of a component's work that makes its web pages, Packing the part
// that packs it.
func Pages(component string) string   { return component + " pages" }
func Packing(component string) string { return component + " pack" }

// Usual plans what a component usually takes.
func (t *Tracker) Usual(component string) {
	if t == nil {
		return
	}
	u := usual[component]
	t.Plan(component, u.sources)
	t.Plan(Packing(component), Pack*u.packed)
	t.Plan(Pages(component), u.pages)
}
