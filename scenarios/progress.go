package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// Progress is how far a user has come in learning: the titles of the steps
// that are done, by workshop and scenario. It is kept in a file, and says
// nothing about the sandbox.
type Progress struct {
	file string
	Done map[string][]string `json:"done"` // by WORKSHOP/NAME
}

// LoadProgress reads a user's progress; a file that is not there is none.
func LoadProgress(file string) (*Progress, error) {
	p := &Progress{file: file, Done: map[string][]string{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("progress of learning: %w; `kalypso scenario reset` forgets it", err)
	}
	if p.Done == nil {
		p.Done = map[string][]string{}
	}
	return p, nil
}

// Of returns how many steps of a scenario are done, of those it has today.
func (p *Progress) Of(info Info) int {
	n := 0
	for _, step := range info.Steps {
		if p.Has(info, step.Title) {
			n++
		}
	}
	return n
}

func (p *Progress) Has(info Info, title string) bool {
	return slices.Contains(p.Done[info.Workshop+"/"+info.Name], title)
}

func (p *Progress) Add(info Info, title string) error {
	if p.Has(info, title) {
		return nil
	}
	key := info.Workshop + "/" + info.Name
	p.Done[key] = append(p.Done[key], title)
	return p.save()
}

// Remove forgets a step that is not done any more.
func (p *Progress) Remove(info Info, title string) error {
	key := info.Workshop + "/" + info.Name
	p.Done[key] = slices.DeleteFunc(p.Done[key], func(t string) bool { return t == title })
	return p.save()
}

func (p *Progress) save() error {
	if p.file == "" {
		return nil
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return err
	}
	if err := renameio.WriteFile(p.file, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("progress of learning: %w", err)
	}
	return nil
}

// ForgetProgress removes the file. One that is not there is forgotten already.
func ForgetProgress(file string) error {
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
