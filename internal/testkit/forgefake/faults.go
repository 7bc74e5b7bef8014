package forgefake

import (
	"errors"
	"slices"
)

// ErrInjected is the error of a call that a test made fail.
var ErrInjected = errors.New("injected fault")

// When says how much of its effect a call has that fails.
type When string

const (
	Before When = "before"
	// Amid is as After, but for the labels of a pull request: those of a new
	// one are not there yet, and those to be taken off an old one still are.
	// A forge that takes several requests for it leaves it like that.
	Amid  When = "amid"
	After When = "after"
)

// fault is a call that is to fail.
type fault struct {
	match func(Call) bool
	left  int // how many calls that match come before it, and itself
	when  When
}

func (f *fault) hits(c Call) bool {
	if f.left == 0 || !f.match(c) {
		return false
	}
	f.left--
	return f.left == 0
}

// FailAt makes the n-th call from now fail with ErrInjected: before it has an
// effect or, when late is true, after it.
func (f *Forge) FailAt(n int, late bool) {
	when := Before
	if late {
		when = After
	}
	f.FailOn(func(Call) bool { return true }, n, when)
}

// FailOn makes the n-th of the calls from now that match fail with
// ErrInjected.
func (f *Forge) FailOn(match func(Call) bool, n int, when When) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fault = nil, fault{match, n, when}
}

// OnCall has do run before every call, outside of the forge's lock, so that it
// may block or use the forge; nil ends it.
func (f *Forge) OnCall(do func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = do
}

// Down makes those calls fail for which why returns an error, until it is
// called again; nil ends it.
func (f *Forge) Down(why func(Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = why
}

// RefuseDrafts makes saving a pull request fail that is to become a draft, until
// it is called again; nil ends it. A new one is not opened, as GitHub does, or
// is opened and is no draft, as Gitea does when its prefixes were changed.
func (f *Forge) RefuseDrafts(err error, opened bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noDraft, f.noDraftSaved = err, opened
}

// Calls returns the calls since New, FailAt, FailOn or the last Calls, and
// makes no call fail from now on.
func (f *Forge) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls, f.fault = nil, fault{}
	return calls
}

// Writes returns those of Calls that write.
func (f *Forge) Writes() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !c.Write })
}
