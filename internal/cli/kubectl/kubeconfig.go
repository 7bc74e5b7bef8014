package kubectl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewKubeconfigCommand(a *cmdutil.App) *cobra.Command {
	var path, merge, switchTo, unmerge bool
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
		RunE: func(*cobra.Command, []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			if unmerge {
				return unmergeKubeconfig(a, home)
			}
			b, err := os.ReadFile(home.Kubeconfig())
			if err != nil {
				return noKubeconfig(home, err)
			}
			switch {
			case merge:
				return mergeKubeconfig(a, home, switchTo)
			case switchTo:
				return usage.New("--switch goes with --merge")
			case path:
				fmt.Fprintln(a.Out, home.Kubeconfig())
				return nil
			}
			_, err = a.Out.Write(b)
			return err
		},
	}
	c.Flags().BoolVar(&path, "path", false, "print the file's path instead")
	c.Flags().BoolVar(&merge, "merge", false, "add the contexts to your own kubeconfig")
	c.Flags().BoolVar(&switchTo, "switch", false, "with --merge: make the first context the current one")
	c.Flags().BoolVar(&unmerge, "unmerge", false, "take the contexts out of your kubeconfig")
	c.MarkFlagsMutuallyExclusive("path", "merge", "unmerge")
	return c
}

func mergeKubeconfig(a *cmdutil.App, home sandbox.Home, switchTo bool) error {
	file, err := sandbox.PersonsKubeconfig()
	if err != nil {
		return err
	}
	names, err := sandbox.MergeKubeconfig(home, file, switchTo)
	if err != nil {
		return err
	}
	a.Messagef("%s: added %s. `kalypso down` takes them out again.", file, strings.Join(names, ", "))
	if !switchTo {
		a.Messagef("Try: kubectl --context %s get namespaces", names[0])
	}
	return nil
}

func unmergeKubeconfig(a *cmdutil.App, home sandbox.Home) error {
	file, err := sandbox.UnmergeKubeconfig(home)
	if err != nil {
		return err
	}
	if file == "" {
		a.Messagef("Nothing to do: the sandbox's contexts have not been merged into a kubeconfig.")
		return nil
	}
	a.Messagef("%s: the sandbox's contexts are out.", file)
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
