// Package platform makes a workshop of a real platform, and brings home what was
// changed in a sandbox of it.
//
// [From] reads a control plane on the branches of its environments, and copies it
// with every repository that its model names into a workshop's folder: branches,
// history and all, as they are. What stands in files for the addresses of those
// repositories goes into workshop.yaml, so that a sandbox can put its own in their
// place. [Export] writes what has been committed in the sandbox since then as
// patches of the originals, with their addresses back in place.
package platform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"go.yaml.in/yaml/v3"
)

// Options say what a workshop is made of.
type Options struct {
	ControlPlane string            // a clone, a bundle or a git URL
	Branch       string            // with the Environment objects, "" for the default branch
	Environments []string          // in order of promotion; all that there are when empty
	Out          string            // the workshop's folder, which must not be there yet, or be empty
	Clones       []string          // clones or bundles that are read in place of their remotes, PATH or URL=PATH
	Names        map[string]string // other names for repositories, by address
	Depth        int               // of the history, 0 for all of it
	ClusterTypes []string          // that get a cluster; those in use when empty
	Clusters     map[string]int    // how many clusters of a type, 1 where it is not named
	Node         workshop.Node     // what runs the pods of the clusters; simulated ones when empty
	AllowedHosts []string          // servers that are asked besides those of the control plane and of the clones
	// Credentials returns user and password for a URL, both "" for those that git
	// itself has. It may be nil.
	Credentials func(url string) (user, password string)
	// Progress gets what git says on its way. It may be nil.
	Progress func(line string)
}

// Report says what a workshop was made of, and what is different in it from the
// original.
type Report struct {
	Workshop *workshop.Workshop
	Notes    []Note    // what was left out, or is not as it seems
	Outside  []Outside // what still points out of the sandbox
}

// Note is about one place of the original.
type Note struct {
	Position model.Position `json:"position"`
	Message  string         `json:"message"`
}

// String begins with the position, where there is one.
func (n Note) String() string {
	if n.Position == (model.Position{}) {
		return n.Message
	}
	return n.Position.String() + ": " + n.Message
}

// building is a workshop being made.
type building struct {
	Options
	clones       *collection
	control      *clone
	objects      []model.EnvironmentObject
	environments []environment
	report       *Report
}

// environment is one that has been read.
type environment struct {
	*model.Environment
	plan     *plan.Plan
	rendered map[string][]fetched // what reconcilers are told to fetch, by cluster type
}

// From makes a workshop's folder. It is there as a whole afterwards, or not at all.
// What the original has wrong is a [source.Error] with file and line.
func From(ctx context.Context, o Options) (*Report, error) {
	b := &building{Options: o, report: &Report{}}
	err := newFolder(o.Out, "--out", func(part string) error {
		b.clones = newCollection(o, filepath.Join(part, workshop.RepositoryFolder))
		return b.build(ctx, part)
	})
	if err != nil {
		return nil, err
	}
	b.report.Workshop.Dir = o.Out
	return b.report, nil
}

func (b *building) build(ctx context.Context, part string) error {
	if err := b.openControlPlane(ctx); err != nil {
		return err
	}
	for _, object := range b.objects {
		if err := b.load(ctx, object); err != nil {
			return fmt.Errorf("environment %s: %w", object.Name, err)
		}
	}
	if err := b.clones.settle(); err != nil {
		return err
	}
	clusters, err := b.clusters()
	if err != nil {
		return err
	}
	texts, err := b.readTexts(ctx)
	if err != nil {
		return err
	}
	w := &workshop.Workshop{
		APIVersion:  workshop.APIVersion,
		Kind:        workshop.Kind,
		Name:        b.control.name,
		Title:       "A copy of " + b.control.urls[0],
		Description: "Made by `kalypso workshop from`.",
		Clusters:    clusters,
		Addresses:   texts.addresses(),
		Workflows:   texts.workflows(),
	}
	w.ControlPlane.Repository = b.control.name
	for _, e := range b.environments {
		w.ControlPlane.Environments = append(w.ControlPlane.Environments, e.Name)
	}
	platform := b.platformRepositories()
	for _, one := range b.clones.known() {
		r := workshop.Repository{Name: one.name, Description: "A copy of " + one.urls[0]}
		if platform[one] {
			r.Team = workshop.PlatformTeam
		}
		w.Repositories = append(w.Repositories, r)
		if one.whole {
			b.note(one.named, "%s has its whole history, since a commit is pinned that is older than --depth %d", one.name, b.Depth)
		}
	}
	b.report.Workshop, b.report.Outside = w, texts.outside()
	b.report.Notes = append(b.report.Notes, texts.notes...)
	var content bytes.Buffer
	encoder := yaml.NewEncoder(&content)
	encoder.SetIndent(2)
	if err := encoder.Encode(w); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(part, workshop.File), content.Bytes(), 0o666)
}

func (b *building) note(at model.Position, format string, args ...any) {
	n := Note{Position: at, Message: redact.Text(fmt.Sprintf(format, args...))}
	if !slices.Contains(b.report.Notes, n) {
		b.report.Notes = append(b.report.Notes, n)
	}
}

// openControlPlane copies the control plane, and reads its Environment objects.
func (b *building) openControlPlane(ctx context.Context) error {
	addresses := []string{b.ControlPlane}
	_, err := os.Stat(b.ControlPlane)
	switch {
	case err == nil:
		b.clones.local = true
		dir, err := filepath.Abs(b.ControlPlane)
		if err != nil {
			return err
		}
		if addresses, err = Remotes(ctx, dir); err != nil {
			return err
		}
		if len(addresses) == 0 {
			addresses = []string{"file://" + filepath.ToSlash(dir)}
		}
		for _, address := range addresses {
			b.clones.given[source.Identity(address, dir)] = dir
		}
	case !strings.Contains(b.ControlPlane, ":"):
		return usage.Errorf("there is no control plane %s: name a clone, a bundle or a git URL", redact.URL(b.ControlPlane))
	}
	for _, address := range addresses {
		b.clones.allow(address)
	}
	if err := b.clones.give(ctx); err != nil {
		return err
	}
	one := b.clones.name(ctx, addresses[0], b.Branch, model.Position{})
	if one.err != nil {
		return fmt.Errorf("control plane %s: %w", redact.URL(b.ControlPlane), one.err)
	}
	b.control = one
	branch := b.Branch
	if branch == "" {
		branch = one.head
	}
	one.used[branch] = true
	tree, err := source.ReadRepository(ctx, one.git.dir, branch, "")
	if errors.Is(err, model.ErrNotFound) {
		return usage.Errorf("control plane %s has no branch %s: choose one of %s", redact.URL(b.ControlPlane), branch, strings.Join(one.branches, ", "))
	}
	if err != nil {
		return err
	}
	if branch != one.head { // a sandbox's scheduler reads the default branch
		b.note(model.Position{Repo: one.urls[0], Branch: branch}, "it is the default branch of the copy, in place of %s", one.head)
		if err := one.setHead(branch); err != nil {
			return err
		}
	}
	tree.Repo = one.urls[0]
	objects, diagnostics := model.LoadEnvironments(tree, "")
	if len(objects) == 0 {
		why := ""
		if wrong := model.Errors(diagnostics); len(wrong) > 0 {
			why = fmt.Sprintf(", as far as it can be read: %s: %s", wrong[0].Position, wrong[0].Message)
		}
		return &source.Error{
			Message: fmt.Sprintf("branch %s of control plane %s has no Environment object%s", branch, redact.URL(b.ControlPlane), why),
			Hint:    "name the branch that has them with --branch",
		}
	}
	b.alias(addresses, objects)
	return b.choose(objects)
}

// alias makes the copy of the control plane known by all its addresses. A folder
// without remotes is the one repository that its Environment objects name.
func (b *building) alias(addresses []string, objects []model.EnvironmentObject) {
	if strings.HasPrefix(addresses[0], "file://") && b.clones.local {
		own := objects[0].Spec.ControlPlane.Repo
		if !slices.ContainsFunc(objects, func(o model.EnvironmentObject) bool {
			return source.Identity(o.Spec.ControlPlane.Repo, "/") != source.Identity(own, "/")
		}) {
			addresses = append([]string{own}, addresses...)
			b.clones.allow(own)
			b.control.name = b.clones.nameOf(source.Identity(own, "/"))
			b.control.urls = append([]string{withoutUser(own)}, b.control.urls...)
		}
	}
	for _, address := range addresses {
		if identity := source.Identity(address, "/"); b.clones.clones[identity] == nil {
			b.clones.clones[identity] = b.control
		}
		if clean := withoutUser(address); !slices.Contains(b.control.urls, clean) {
			b.control.urls = append(b.control.urls, clean)
		}
	}
}

// choose takes the environments that were asked for, in that order, or all.
func (b *building) choose(objects []model.EnvironmentObject) error {
	if len(b.Environments) == 0 {
		b.objects = slices.Clone(objects)
		slices.SortFunc(b.objects, func(x, y model.EnvironmentObject) int {
			return cmp.Or(stage(x.Name)-stage(y.Name), cmpPositions(x.Position, y.Position))
		})
		return nil
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	for _, name := range b.Environments {
		i := slices.Index(names, name)
		if i < 0 {
			return usage.Errorf("there is no environment %s: choose of %s", name, strings.Join(names, ", "))
		}
		b.objects = append(b.objects, objects[i])
	}
	return nil
}

// stage guesses where on its way a change comes to an environment: nothing in a
// control plane says so. Names that say nothing either are in the order in which
// they are written.
func stage(name string) int {
	for i, parts := range [][]string{{"dev", "sandbox", "play"}, {"test", "qa", "int"}, {"stag", "uat", "pre", "canary"}, {"prod", "live"}} {
		for _, part := range parts {
			if strings.Contains(strings.ToLower(name), part) {
				return 2 * i
			}
		}
	}
	return 5 // before the last
}
