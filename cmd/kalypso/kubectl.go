package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

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
