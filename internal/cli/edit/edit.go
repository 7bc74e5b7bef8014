// Package edit has the commands that change the objects of a platform model in their files.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/internal/atomicfile"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// Options are those of the commands.
type Options struct {
	*cmdutil.App
	Model cmdutil.ModelFlags
	Edits []edit.Edit
	File  string // with the YAML of an object or of a selector, - for standard input
	Write bool

	Propose proposeFlags
}

// NewCommand makes `kalypso edit`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	each := func(operation edit.Operation, hasValue bool) func(*Options, string, string, []string) error {
		return func(o *Options, kind, name string, args []string) error {
			for _, arg := range args {
				key, value, ok := strings.Cut(arg, "=")
				if ok != hasValue || key == "" {
					return usage.Errorf("%q: write %s", arg, map[bool]string{true: "KEY=VALUE", false: "KEY"}[hasValue])
				}
				o.Edits = append(o.Edits, edit.Edit{Operation: operation, Kind: kind, Name: name, Key: key, Value: value})
			}
			return nil
		}
	}
	selector := newCommand(a, "set-selector policies/NAME deploymentTargetSelector|clusterTypeSelector", "Give a scheduling policy a selector, from a file in YAML", 2, false,
		func(o *Options, kind, name string, args []string) error {
			o.Edits = []edit.Edit{{Operation: edit.SetSelector, Kind: kind, Name: name, Key: args[0]}}
			return nil
		})
	put := newCommand(a, "put", "Add an object from a file in YAML, or change the one of its name", 0, false,
		func(o *Options, _, _ string, _ []string) error {
			o.Edits = []edit.Edit{{Operation: edit.PutObject}}
			return nil
		})
	for _, c := range []*cobra.Command{selector, put} {
		c.Flags().StringP("file", "f", "", "the `FILE` with it, - for standard input")
		_ = c.MarkFlagRequired("file") // fails for a flag that is not there
	}
	return cmdutil.Group(&cobra.Command{
		Use:   "edit",
		Short: "Change labels, selectors, configuration and objects of the platform model",
		Long: `Change the objects of a platform model in the files that have them. Comments,
order and all else stay as they are. What cannot be changed in place so, as what
a YAML anchor shares, is an error with its place.

The outcome is a unified diff of the control plane's files, which ` + "`git apply`" + ` takes.
With --write the files of the folder are changed. ` + "`kalypso plan`" + ` says what follows.

With --propose a pull request is opened with the edit, on the branch of the
environment, after what it would change was printed; with --dry-run only that is.
The forge is the running sandbox's, or that of --config.`,
	},
		newCommand(a, "set-label KIND/NAME KEY=VALUE...", "Give an object labels", 2, true, each(edit.SetLabel, true)),
		newCommand(a, "remove-label KIND/NAME KEY...", "Take labels off an object", 2, true, each(edit.RemoveLabel, false)),
		newCommand(a, "set-config configs/NAME KEY=VALUE...", "Give a platform configuration values", 2, true, each(edit.SetConfigKey, true)),
		newCommand(a, "remove-config configs/NAME KEY...", "Remove keys of a platform configuration", 2, true, each(edit.RemoveConfigKey, false)),
		selector, put,
		newCommand(a, "delete KIND/NAME...", "Remove objects", 1, true, func(o *Options, kind, name string, args []string) error {
			o.Edits = append(o.Edits, edit.Edit{Operation: edit.DeleteObject, Kind: kind, Name: name})
			for _, arg := range args {
				kind, name, err := object(arg)
				if err != nil {
					return err
				}
				o.Edits = append(o.Edits, edit.Edit{Operation: edit.DeleteObject, Kind: kind, Name: name})
			}
			return nil
		}),
	)
}

func newCommand(a *cmdutil.App, use, short string, arguments int, repeat bool, edits func(o *Options, kind, name string, args []string) error) *cobra.Command {
	o := &Options{App: a}
	most := arguments
	if repeat {
		most = math.MaxInt
	}
	name, _, _ := strings.Cut(use, " ")
	c := &cobra.Command{
		Use: use, Short: short,
		Long: short + `. Without -e the files are those of the branch that is checked out in
the folder that --control-plane names.

KIND is one of ` + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") + `, or one of
their other names.

Exits with
  0  also when nothing differs
  1  when it cannot be done, as when there is no such object
` + cmdutil.ModelHelp,
		Example: "  " + examples[name],
		Args:    cmdutil.RangeArgs(arguments, most),
		RunE: func(c *cobra.Command, args []string) error {
			o.File, _ = c.Flags().GetString("file") // "" where there is no such flag
			var kind, name string
			if arguments > 0 {
				var err error
				if kind, name, err = object(args[0]); err != nil {
					return err
				}
				args = args[1:]
			}
			if err := edits(o, kind, name, args); err != nil {
				return err
			}
			if err := o.Propose.check(c); err != nil {
				return err
			}
			return Run(c.Context(), o)
		},
	}
	o.Model.Register(a, c, "what is checked out")
	c.Flags().BoolVar(&o.Write, "write", false, "change the files of the folder that --control-plane names")
	o.Propose.register(c)
	return c
}

var examples = map[string]string{
	"set-label":     "kalypso edit set-label clustertype/drone edge=true --control-plane . --write\n  kalypso edit set-label clustertype/drone edge=true -e dev --propose",
	"remove-label":  "kalypso edit remove-label clustertype/drone edge -e dev",
	"set-config":    "kalypso edit set-config config/web-config URL=http://127.0.0.1:8080 --control-plane .",
	"remove-config": "kalypso edit remove-config config/web-config URL --control-plane .",
	"set-selector":  "kalypso edit set-selector policy/functional-test clusterTypeSelector -f selector.yaml --control-plane .",
	"put":           "kalypso edit put -f drone.yaml --control-plane . --write",
	"delete":        "kalypso edit delete policy/functional-test --control-plane . --write",
}

// kinds are those that can be edited, by the names of package view.
var kinds = func() map[string]string {
	all := map[string]string{}
	for _, k := range edit.Kinds() {
		if _, err := view.FindKind(k.Plural); err == nil {
			all[k.Plural] = k.Name
		}
	}
	return all
}()

// object takes KIND/NAME apart.
func object(text string) (kind, name string, err error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok || name == "" {
		return "", "", usage.Errorf("%q: write KIND/NAME, as in clustertypes/drone", text)
	}
	found, err := view.FindKind(kind)
	if err != nil {
		return "", "", err
	}
	if kind, ok = kinds[found.Name]; !ok {
		return "", "", usage.Errorf("%s are not objects of the control plane: there is %s", found.Name, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	return kind, name, nil
}

// Run makes the edits, and shows or writes the files that they change.
func Run(ctx context.Context, o *Options) error {
	if o.File != "" {
		content, err := o.read()
		if err != nil {
			return err
		}
		o.Edits[0].Content = string(content)
	}
	if o.Propose.wanted() {
		return o.propose(ctx)
	}
	w, err := o.Model.Open(ctx, o.App)
	if err != nil {
		return err
	}
	tree, folder, err := o.tree(ctx, w)
	if err != nil {
		return err
	}
	changed, err := edit.Apply(tree, folder, o.Edits)
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		o.Messagef("Nothing differs: it is so already.")
		return nil
	}
	if !o.Write {
		return o.print(tree, changed)
	}
	return o.write(tree, changed)
}

// read reads the file with an object or a selector.
func (o *Options) read() ([]byte, error) {
	if o.File == "-" {
		return io.ReadAll(io.LimitReader(o.In, model.MaxFile))
	}
	return os.ReadFile(o.File)
}

// tree is what is edited: an environment's branch, or what is checked out.
func (o *Options) tree(ctx context.Context, w *source.Platform) (tree *model.Tree, folder string, err error) {
	if o.Model.Environment == "" {
		tree, err = w.Files(ctx)
		return tree, "", err
	}
	env, err := w.Load(ctx, o.Model.Environment)
	if err != nil {
		return nil, "", err
	}
	tree, err = w.Read(ctx, env.ControlPlane)
	return tree, env.ControlPlane.Path, err
}

// print shows the files' differences.
func (o *Options) print(tree *model.Tree, changed map[string][]byte) error {
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		before, known := tree.Files[file]
		c := plan.Change{Path: file, Content: changed[file], Action: plan.Modify}
		switch {
		case !known:
			c.Action = plan.Add
		case c.Content == nil:
			c.Action = plan.Remove
		}
		if _, err := io.WriteString(o.Out, view.Patch(c, before)); err != nil {
			return err
		}
	}
	return nil
}

// write changes the files in the folder of the control plane, if that has what was read.
func (o *Options) write(tree *model.Tree, changed map[string][]byte) error {
	dir, err := os.OpenRoot(o.Model.ControlPlane)
	if err != nil {
		return &source.Error{Message: fmt.Sprintf("--write changes a folder: %s", err), Hint: "clone the control plane, and name the clone with --control-plane", Err: err}
	}
	defer dir.Close()
	for file, content := range tree.Files {
		if content == nil {
			continue // it was not read, and is not changed
		}
		now, err := dir.ReadFile(filepath.FromSlash(file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, content) {
			return &source.Error{Message: fmt.Sprintf("%s in %s is not as on branch %s", file, o.Model.ControlPlane, tree.Branch), Hint: "check out that branch, or edit what is checked out without -e"}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		path := filepath.Join(o.Model.ControlPlane, filepath.FromSlash(file))
		if changed[file] == nil {
			err = os.Remove(path)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = atomicfile.Write(path, changed[file], 0o644)
		}
		if err != nil {
			return err
		}
		o.Messagef("changed %s", path)
	}
	return nil
}
