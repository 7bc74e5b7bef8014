package kubectl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// KubeconfigOptions are those of `kalypso kubeconfig`.
type KubeconfigOptions struct {
	*cmdutil.App
	Path, Merge, Switch, Unmerge bool
}

// NewKubeconfigCommand makes `kalypso kubeconfig`.
func NewKubeconfigCommand(a *cmdutil.App, run func(context.Context, *KubeconfigOptions) error) *cobra.Command {
	o := &KubeconfigOptions{App: a}
	c := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of the sandbox's clusters, or merge it into yours",
		Long: `Print the kubeconfig with one context per cluster. To use your own kubectl:

    export KUBECONFIG=$(kalypso kubeconfig --path)

Your own kubeconfig stays as it is, unless you ask:

    kalypso kubeconfig --merge            # adds the sandbox's contexts to it
    kalypso kubeconfig --merge --switch   # and makes the first the current one
    kalypso kubeconfig --unmerge          # takes them out again; so does "kalypso down"

A context, cluster or user of the same name that is not the sandbox's is never
replaced.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.Path, "path", false, "print the file's path instead")
	c.Flags().BoolVar(&o.Merge, "merge", false, "add the contexts to your own kubeconfig")
	c.Flags().BoolVar(&o.Switch, "switch", false, "with --merge: make the first context the current one")
	c.Flags().BoolVar(&o.Unmerge, "unmerge", false, "take the contexts out of your kubeconfig")
	c.MarkFlagsMutuallyExclusive("path", "merge", "unmerge")
	return c
}

// Kubeconfig prints the kubeconfig, or changes the user's.
func Kubeconfig(_ context.Context, o *KubeconfigOptions) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if o.Unmerge {
		return o.unmerge(home)
	}
	b, err := os.ReadFile(home.Kubeconfig())
	switch {
	case err != nil:
		return noKubeconfig(home, err)
	case o.Merge:
		return o.merge(home)
	case o.Switch:
		return usage.New("--switch goes with --merge")
	case o.Path:
		b = []byte(home.Kubeconfig() + "\n")
	}
	_, err = o.Out.Write(b)
	return err
}

func (o *KubeconfigOptions) merge(home sandbox.Home) error {
	file, err := sandbox.UserKubeconfig()
	if err != nil {
		return err
	}
	switchTo := ""
	if o.Switch {
		switchTo = sandbox.CurrentContext(home)
	}
	names, err := sandbox.MergeKubeconfig(home, file, switchTo)
	if err != nil {
		return err
	}
	o.Messagef("%s: added %s. `kalypso down` takes them out again.", file, strings.Join(names, ", "))
	if !o.Switch {
		o.Messagef("Try: kubectl --context %s get namespaces", names[0])
	}
	return nil
}

func (o *KubeconfigOptions) unmerge(home sandbox.Home) error {
	file, err := sandbox.UnmergeKubeconfig(home)
	if err != nil {
		return err
	}
	if file == "" {
		o.Messagef("Nothing to do: the sandbox's contexts have not been merged into a kubeconfig.")
		return nil
	}
	o.Messagef("%s: the sandbox's contexts are out.", file)
	return nil
}

func noKubeconfig(home sandbox.Home, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if !home.Exists() {
			return sandbox.ErrNoSandbox
		}
		return errors.New("the sandbox's clusters have never been up: run `kalypso up`")
	}
	return err
}
