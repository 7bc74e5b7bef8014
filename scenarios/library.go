package scenarios

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// Library is the scenarios of one workshop.
type Library struct {
	Workshop string
	Files    fs.FS    // NAME.txtar each
	Ordered  []string // names, as the workshop has them
	Apart    []string // names of those that are not run with all others
	// Addresses are what stands in their files for addresses of the forge.
	Addresses []workshop.Address
}

// Of returns the scenarios of a workshop.
func Of(w *workshop.Workshop) (Library, error) {
	files, err := fs.Sub(w.Files, workshop.ScenarioFolder)
	return Library{w.Name, files, w.Scenarios.Order, w.Scenarios.Apart, w.Addresses}, err
}

// UnknownError says that there is no such scenario.
type UnknownError struct {
	Name   string
	Choice []string
}

func (e *UnknownError) Error() string {
	if len(e.Choice) == 0 {
		return fmt.Sprintf("there is no scenario %q: the workshop has none", e.Name)
	}
	near := ""
	if n := model.Nearest(e.Name, e.Choice); n != "" {
		near = ", did you mean " + n + "?"
	}
	return fmt.Sprintf("there is no scenario %q%s\nChoose one of %s", e.Name, near, strings.Join(e.Choice, ", "))
}

// List returns the scenarios in the order of the workshop, and after them those
// that are not run with all others.
func (l Library) List() ([]Info, error) {
	var infos []Info
	for i, name := range l.Names() {
		info, err := l.Get(name)
		if err != nil {
			return nil, err
		}
		info.Apart = i >= len(l.Ordered)
		infos = append(infos, info)
	}
	return infos, nil
}

// Names are those of all scenarios, in the order of List.
func (l Library) Names() []string { return append(slices.Clip(l.Ordered), l.Apart...) }

// Source returns a scenario as it is written. An unknown one is an
// [UnknownError].
func (l Library) Source(name string) ([]byte, error) {
	if all := l.Names(); !slices.Contains(all, name) {
		return nil, &UnknownError{name, all}
	}
	return fs.ReadFile(l.Files, name+".txtar")
}

// Get returns one scenario, parsed.
func (l Library) Get(name string) (Info, error) {
	text, err := l.Source(name)
	if err != nil {
		return Info{}, err
	}
	return Parse(l.Workshop, name, text), nil
}

// Needs returns what a scenario builds on, directly or not, in the order of the
// workshop.
func (l Library) Needs(name string) ([]string, error) {
	needed := map[string]bool{}
	todo := []string{name}
	for len(todo) > 0 {
		info, err := l.Get(todo[0])
		if err != nil {
			return nil, err
		}
		todo = todo[1:]
		for _, n := range info.Needs {
			if !needed[n] {
				needed[n] = true
				todo = append(todo, n)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.Ordered), func(n string) bool { return !needed[n] }), nil
}

// NeededBy returns the scenarios that build on one, directly or not, in their
// order.
func (l Library) NeededBy(name string) ([]string, error) {
	var all []string
	for _, n := range l.Ordered {
		needs, err := l.Needs(n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(needs, name) {
			all = append(all, n)
		}
	}
	return all, nil
}

// Replacer returns what puts the addresses of a forge's organisation into the
// files of scenarios.
func (l Library) Replacer(orgURL string) *addresses.Replacer {
	return (&workshop.Workshop{Addresses: l.Addresses}).Replacer(workshop.On(orgURL))
}
