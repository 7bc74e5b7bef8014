package scenarios

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// script is a scenario while it runs: what its words share.
type script struct {
	ctx      context.Context
	deadline time.Time // zero is none
	world    World
	info     Info
	forge    *forge
	library  fs.FS
	say      func(Event)
	began    time.Time
	dir      string            // where the script works; has its files
	home     string            // folder for what programs keep
	vars     map[string]string // that the script and its words have set
	envNames []string          // that the script sets itself

	askedStatus time.Time // when a wait has last asked how the sandbox is

	patient   bool                   // words wait
	ts        *testscript.TestScript // of the word that runs now
	wordError error                  // of the last of our words

	steps    []Step // begun so far
	stepTime time.Time
	measured []Measurement

	written   []string             // paths, by the words write and edit
	pushed    bool                 // the last push had something to push
	repeated  bool                 // something had been done before this run
	since     time.Time            // of the last commit that was pushed, found or merged
	stepSince time.Time            // what since was when the step began
	happened  map[string]time.Time // the last "push" and "merge" of this run
	pull      *pull                // the current pull request
	wanted    *pullQuery           // what was waited for last: it may come later
	files     map[string][]string  // that a pull request changes, by its head

	// what the word that runs now has done and printed
	ran, stdout, stderr strings.Builder
	// printed is what the last word has shown that shows a file
	printed struct{ what, text string }
}

// newScript prepares a scenario: its folder with its files, in which the
// forge's address is filled in. close removes the folder.
func newScript(ctx context.Context, o Options) (*script, error) {
	text, err := source(o.files, o.Workshop, o.Name)
	if err != nil {
		return nil, err
	}
	f, err := newForge(ctx, o.World)
	if err != nil {
		return nil, err
	}
	s := &script{
		ctx: ctx, world: o.World, info: describe(o.Workshop, o.Name, text), forge: f, library: o.files, say: o.Report, began: time.Now(),
		happened: map[string]time.Time{}, vars: map[string]string{},
	}
	if s.say == nil {
		s.say = func(Event) {}
	}
	for _, m := range envWord.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !slices.Contains(s.envNames, name) {
			s.envNames = append(s.envNames, name)
		}
	}
	if s.dir, err = os.MkdirTemp("", "kalypso-scenario-"); err != nil {
		return nil, err
	}
	// messages have the folder's real name
	if s.dir, err = filepath.EvalSymlinks(s.dir); err != nil {
		return nil, err
	}
	s.home = filepath.Join(s.dir, ".home")
	if err := os.Mkdir(s.home, 0o700); err != nil {
		s.close()
		return nil, err
	}
	for _, file := range txtar.Parse(text).Files {
		if err := s.extract(file); err != nil {
			s.close()
			return nil, fmt.Errorf("scenario %s: %w", o.Name, err)
		}
	}
	return s, nil
}

func (s *script) extract(file txtar.File) error {
	if !filepath.IsLocal(file.Name) {
		return fmt.Errorf("file %s: %w", file.Name, fs.ErrInvalid)
	}
	path := filepath.Join(s.dir, filepath.FromSlash(file.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(file.Data), placeholder, s.world.OrgURL())), 0o600)
}

// remembered puts back, when it is called, what words remember of what they have
// seen as it is now.
func (s *script) remembered() (restore func()) {
	vars, pull, wanted, since := maps.Clone(s.vars), s.pull, s.wanted, s.since
	return func() { s.vars, s.pull, s.wanted, s.since = vars, pull, wanted, since }
}

func (s *script) close() { _ = os.RemoveAll(s.dir) }

// simulated says why pods of some of the clusters do not really run, "" when
// all do.
func (s *script) simulated(clusters []string) string {
	for _, c := range clusters {
		if why := s.world.Simulated[c]; why != "" {
			return fmt.Sprintf("pods on %s do not really run: %s", c, why)
		}
	}
	return ""
}
