package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/spf13/cobra"
)

func newKubectl(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARGUMENTS...]",
		Short: "kubectl on the sandbox's clusters",
		Long: `The packed kubectl with the sandbox's kubeconfig. Everything after "kubectl" is
its own; --context chooses the cluster, the first one is the default.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			if _, err := os.Stat(home.Kubeconfig()); err != nil {
				return noKubeconfig(home, err)
			}
			program := filepath.Join(components.Path(home.Components(), "kube"), "kube")
			// Of two settings of a name a Go program takes the first. Without a place
			// for it, kubectl keeps a cache in the person's home, and nobody would
			// clean that up.
			env := append([]string{"KUBECONFIG=" + home.Kubeconfig()}, os.Environ()...)
			env = append(env, "KUBECACHEDIR="+home.Path("tmp", "kube-cache"))
			// kubectl takes over this process, with its terminal and its signals
			err = syscall.Exec(program, append([]string{"kubectl"}, args...), env)
			return fmt.Errorf("run kubectl: %w", err)
		},
	}
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

func newKubeconfig(a *app) *cobra.Command {
	var path bool
	c := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of the sandbox's clusters",
		Long: `Print the kubeconfig with one context per cluster. To use your own kubectl:

    export KUBECONFIG=$(kalypso kubeconfig --path)`,
		Args: onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			b, err := os.ReadFile(home.Kubeconfig())
			if err != nil {
				return noKubeconfig(home, err)
			}
			if path {
				fmt.Fprintln(a.out, home.Kubeconfig())
				return nil
			}
			_, err = a.out.Write(b)
			return err
		},
	}
	c.Flags().BoolVar(&path, "path", false, "print the file's path instead")
	return c
}
