package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// library has a folder for each workshop with its scenarios, and in the file
// "order" their names, one per line, as the tutorial has them.
//
//go:embed */order */*.txtar
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
}

// StepInfo is a step as it is written.
type StepInfo struct {
	Title       string `json:"title"`
	Explanation string `json:"explanation"`
	line        string // of the script
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
	names, err := order(files, workshop)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, path.Join(workshop, name+".txtar"))
		if err != nil {
			return nil, err
		}
		infos = append(infos, describe(workshop, name, text))
	}
	return infos, nil
}

func source(files fs.FS, workshop, name string) ([]byte, error) {
	names, err := order(files, workshop)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if n == name {
			return fs.ReadFile(files, path.Join(workshop, name+".txtar"))
		}
	}
	return nil, &UnknownError{"scenario", name, names}
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

// describe reads the head and the steps of a scenario.
func describe(workshop, name string, text []byte) Info {
	info := Info{Workshop: workshop, Name: name}
	var explanation []string
	inHead := true
	for line := range strings.Lines(string(txtar.Parse(text).Comment)) {
		line = strings.TrimSuffix(line, "\n")
		comment, isComment := strings.CutPrefix(line, "#")
		comment = strings.TrimSpace(comment)
		key, value, _ := strings.Cut(comment, ":")
		title, isStep := strings.CutPrefix(line, "step ")
		switch {
		case isStep:
			inHead = false
			info.Steps = append(info.Steps, StepInfo{Title: strings.TrimSpace(title), line: line})
		case !isComment:
			inHead = false
		case !inHead:
			if n := len(info.Steps); n > 0 {
				info.Steps[n-1].Explanation = strings.TrimSpace(info.Steps[n-1].Explanation + " " + comment)
			}
		case info.Title == "":
			info.Title = comment
		case key == "Persona":
			info.Persona = strings.TrimSpace(value)
		case key == "Follows":
			info.Follows = strings.TrimSpace(value)
		default:
			explanation = append(explanation, comment)
		}
	}
	info.Explanation = paragraphs(explanation)
	return info
}

// paragraphs joins lines that follow each other.
func paragraphs(lines []string) string {
	var all []string
	for p := range strings.SplitSeq(strings.Join(lines, "\n"), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n\n")
}
