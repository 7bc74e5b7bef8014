package workshop

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// kata is the workshop that `new` begins with. KATA in its workshop.yaml stands for
// its name.
//
//go:embed all:kata
var kata embed.FS

func newNew(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	return &cobra.Command{
		Use:   "new NAME|DIR",
		Short: "Make the folder of a workshop that runs, to begin with",
		Long: `Make a folder with a workshop that runs: one application, two environments, one
cluster, and a scenario of three steps. Its last element is the workshop's name.
Then bring it up and run it:

    kalypso up --workshop ./my-kata
    kalypso scenario run --all`,
		Example: `  kalypso workshop new my-kata`,
		Args:    cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Location = args[0]
			return run(c.Context(), o)
		},
	}
}

func runNew(_ context.Context, o *Options) error {
	dir := filepath.Clean(o.Location)
	name := filepath.Base(dir)
	if _, err := os.Lstat(dir); err == nil {
		return usage.Errorf("%s is there already: choose another name", dir)
	}
	parent := filepath.Dir(dir)
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return usage.Errorf("there is no folder %s to make %s in", parent, name)
	}
	// in one step, so that what is cut off leaves no half of it
	partial, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	if err := writeKata(partial, name); err != nil {
		return err
	}
	if _, err := workshop.OpenFolder(partial); err != nil {
		return usage.Errorf("%q is no name for a workshop: use up to 63 of a-z, 0-9 and -, not beginning or ending with -", name)
	}
	if err := errors.Join(os.Chmod(partial, 0o755), os.Rename(partial, dir)); err != nil {
		return err
	}
	shown := o.Location
	if !strings.ContainsRune(shown, filepath.Separator) {
		shown = "." + string(filepath.Separator) + shown
	}
	o.Messagef("%s has a workshop that runs.\n\nNext      kalypso up --workshop %s\n          kalypso scenario run --all\nChange it, and look with `kalypso workshop validate %[2]s` whether it is in order.", dir, shown)
	return nil
}

func writeKata(dir, name string) error {
	return fs.WalkDir(kata, "kata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(path, "kata")))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := kata.ReadFile(path)
		if err != nil {
			return err
		}
		if path == "kata/"+workshop.File {
			text = bytes.ReplaceAll(text, []byte("KATA"), fmt.Appendf(nil, "%s", name))
		}
		return os.WriteFile(to, text, 0o644)
	})
}
