package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// library has a folder for each workshop with its scenarios, and in the file
// "order" their names, one per line, as the tutorial has them. The file "apart"
// names those that are not run with all others.
//
//go:embed */order */apart */*.txtar
var library embed.FS

// Info says what a scenario is about.
type Info struct {
	Workshop    string     `json:"workshop"`
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Persona     string     `json:"persona"`     // who acts: platform team or application team
	Follows     string     `json:"follows"`     // the sections of the tutorial
	Explanation string     `json:"explanation"` // paragraphs, divided by empty lines
	Steps       []StepInfo `json:"steps"`
	// Apart is set when the scenario is not run with all others, since it ends
	// what they build on.
	Apart bool `json:"apart,omitempty"`
}

// UnknownError says that there is no such workshop or scenario.
type UnknownError struct {
	Kind   string // "workshop" or "scenario"
	Name   string
	Choice []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no %s %q: choose one of %s", e.Kind, e.Name, strings.Join(e.Choice, ", "))
}

// List returns a workshop's scenarios in the order of its tutorial.
func List(workshop string) ([]Info, error) { return list(library, workshop) }

// Source returns a scenario as it is written.
func Source(workshop, name string) ([]byte, error) { return source(library, workshop, name) }

// Describe tells what one scenario is about.
func Describe(workshop, name string) (Info, error) {
	text, err := source(library, workshop, name)
	if err != nil {
		return Info{}, err
	}
	return describe(workshop, name, text), nil
}

func list(files fs.FS, workshop string) ([]Info, error) {
	names, apart, err := both(files, workshop)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for i, name := range append(names, apart...) {
		text, err := fs.ReadFile(files, path.Join(workshop, name+".txtar"))
		if err != nil {
			return nil, err
		}
		info := describe(workshop, name, text)
		info.Apart = i >= len(names)
		infos = append(infos, info)
	}
	return infos, nil
}

func source(files fs.FS, workshop, name string) ([]byte, error) {
	names, apart, err := both(files, workshop)
	if err != nil {
		return nil, err
	}
	all := append(names, apart...)
	if slices.Contains(all, name) {
		return fs.ReadFile(files, path.Join(workshop, name+".txtar"))
	}
	return nil, &UnknownError{"scenario", name, all}
}

// both are the names of a workshop's scenarios, in order, and of those apart.
func both(files fs.FS, workshop string) (names, apart []string, err error) {
	if names, err = order(files, workshop); err != nil {
		return nil, nil, err
	}
	b, err := fs.ReadFile(files, path.Join(workshop, "apart"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return slices.Clip(names), strings.Fields(string(b)), nil
}

func order(files fs.FS, workshop string) ([]string, error) {
	b, err := fs.ReadFile(files, path.Join(workshop, "order"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		all, err := fs.Glob(files, "*/order")
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
