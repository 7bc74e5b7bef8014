package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

//go:embed */order */apart */*.txtar
var tutorials embed.FS

// Tutorials are the workshops that come with kalypso.
var Tutorials = Library{tutorials}

// Library has a folder for each workshop with its scenarios, and in the file
// "order" their names, one per line, as the tutorial has them. The file "apart"
// names those that are not run with all others.
type Library struct{ Files fs.FS }

// UnknownError says that there is no such workshop or scenario.
type UnknownError struct {
	Kind   string // "workshop" or "scenario"
	Name   string
	Choice []string
}

func (e *UnknownError) Error() string {
	near := ""
	if n := model.Nearest(e.Name, e.Choice); n != "" {
		near = ", did you mean " + n + "?"
	}
	return fmt.Sprintf("there is no %s %q%s\nChoose one of %s", e.Kind, e.Name, near, strings.Join(e.Choice, ", "))
}

// List returns a workshop's scenarios in the order of its tutorial, and after
// them those that are not run with all others. An unknown workshop is an
// [UnknownError].
func (l Library) List(workshop string) ([]Info, error) {
	ordered, apart, err := l.names(workshop)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for i, name := range append(ordered, apart...) {
		info, err := l.Get(workshop, name)
		if err != nil {
			return nil, err
		}
		info.Apart = i >= len(ordered)
		infos = append(infos, info)
	}
	return infos, nil
}

// Source returns a scenario as it is written. An unknown one is an
// [UnknownError].
func (l Library) Source(workshop, name string) ([]byte, error) {
	ordered, apart, err := l.names(workshop)
	if err != nil {
		return nil, err
	}
	all := append(ordered, apart...)
	if !slices.Contains(all, name) {
		return nil, &UnknownError{"scenario", name, all}
	}
	return fs.ReadFile(l.Files, path.Join(workshop, name+".txtar"))
}

// Get returns one scenario, parsed.
func (l Library) Get(workshop, name string) (Info, error) {
	text, err := l.Source(workshop, name)
	if err != nil {
		return Info{}, err
	}
	return Parse(workshop, name, text), nil
}

// names are those of a workshop's scenarios, in order, and of those apart.
func (l Library) names(workshop string) (ordered, apart []string, err error) {
	if ordered, err = l.Order(workshop); err != nil {
		return nil, nil, err
	}
	b, err := fs.ReadFile(l.Files, path.Join(workshop, "apart"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return slices.Clip(ordered), strings.Fields(string(b)), nil
}

// Order is the names of a workshop's scenarios that are run with all others, in
// the order of its tutorial. An unknown workshop is an [UnknownError].
func (l Library) Order(workshop string) ([]string, error) {
	b, err := fs.ReadFile(l.Files, path.Join(workshop, "order"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		all, err := fs.Glob(l.Files, "*/order")
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i] = path.Dir(all[i])
		}
		return nil, &UnknownError{"workshop", workshop, all}
	}
	return strings.Fields(string(b)), err
}

// Needs returns what a scenario builds on, directly or not, in the order of the
// tutorial.
func (l Library) Needs(workshop, name string) ([]string, error) {
	ordered, err := l.Order(workshop)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	todo := []string{name}
	for len(todo) > 0 {
		info, err := l.Get(workshop, todo[0])
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
	return slices.DeleteFunc(ordered, func(n string) bool { return !needed[n] }), nil
}

// NeededBy returns the scenarios of the tutorial that build on one, directly or
// not, in their order.
func (l Library) NeededBy(workshop, name string) ([]string, error) {
	ordered, err := l.Order(workshop)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, n := range ordered {
		needs, err := l.Needs(workshop, n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(needs, name) {
			all = append(all, n)
		}
	}
	return all, nil
}

// OrgURL is how the tutorials spell the address of the forge's organisation.
const OrgURL = "https://github.com/YOUR_ORG"
