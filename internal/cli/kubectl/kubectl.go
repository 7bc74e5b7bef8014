// Package kubectl has the commands that lead to the sandbox's clusters.
package kubectl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso kubectl`.
type Options struct {
	*cmdutil.App
	Args []string // of kubectl
}

// NewCommand makes `kalypso kubectl`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARGUMENTS...]",
		Short: "kubectl on the sandbox's clusters",
		Long: `The packed kubectl with the sandbox's kubeconfig. Everything after "kubectl" is
its own; --context chooses the cluster, the first one is the default.`,
		DisableFlagParsing: true,
		RunE:               func(c *cobra.Command, args []string) error { return run(c.Context(), &Options{a, args}) },
	}
}

// Run replaces this process with kubectl, which so has its terminal and its
// signals.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if _, err := os.Stat(home.Kubeconfig()); err != nil {
		return noKubeconfig(home, err)
	}
	if asks, kubeContext := asksClusters(o.Args); asks {
		if err := sandbox.Reachable(ctx, home, kubeContext); err != nil {
			return err
		}
		if err := sandbox.ClusterAnswers(ctx, home, kubeContext); err != nil {
			return err
		}
	}
	program := filepath.Join(components.Path(home.Components(), "kube"), "kube")
	// Of two settings of a name a Go program takes the first. Without a folder
	// for it, kubectl keeps a cache in the user's home that nobody cleans up.
	env := append([]string{"KUBECONFIG=" + home.Kubeconfig()}, os.Environ()...)
	env = append(env, "KUBECACHEDIR="+home.Path("tmp", "kube-cache"))
	err = syscall.Exec(program, append([]string{"kubectl"}, o.Args...), env)
	return fmt.Errorf("run kubectl: %w", err)
}

// valueFlags are the flags of all of kubectl's commands that take their value
// after a space, and may stand before the command.
var valueFlags = strings.Fields(`--as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key
	--cluster --context --kubeconfig --log-flush-frequency --namespace -n --password --profile --profile-output --request-timeout
	--server -s --tls-server-name --token --user --username -v --v --vmodule`)

// asksClusters says whether a command line of kubectl is for the sandbox's
// clusters, and the context that it names, "" for none.
func asksClusters(args []string) (asks bool, kubeContext string) {
	command := ""
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-h", "--help", "--client", "--kubeconfig", "--server", "-s"}, name):
			return false, ""
		case name == "--context" && value != "":
			kubeContext = value
		case slices.Contains(valueFlags, args[i]):
			i++
			if name == "--context" && i < len(args) {
				kubeContext = args[i]
			}
		case command == "" && !strings.HasPrefix(name, "-"):
			command = name
		}
	}
	return !slices.Contains([]string{"", "help", "completion", "config", "options", "plugin", "kustomize", "__complete", "__completeNoDesc"}, command), kubeContext
}
