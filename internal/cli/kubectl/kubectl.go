package kubectl

import (
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

func NewCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARGUMENTS...]",
		Short: "kubectl on the sandbox's clusters",
		Long: `The packed kubectl with the sandbox's kubeconfig. Everything after "kubectl" is
its own; --context chooses the cluster, the first one is the default.`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			if _, err := os.Stat(home.Kubeconfig()); err != nil {
				return noKubeconfig(home, err)
			}
			if kubectlAsks(args) {
				if err := sandbox.Reachable(c.Context(), home); err != nil {
					return err
				}
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

// kubectlValues are the flags of all of kubectl's commands that take their value
// after a space, and may stand before the command.
var kubectlValues = strings.Fields(`--as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key
	--cluster --context --kubeconfig --log-flush-frequency --namespace -n --password --profile --profile-output --request-timeout
	--server -s --tls-server-name --token --user --username -v --v --vmodule`)

// kubectlAsks tells whether a command line of kubectl's is for the sandbox's
// clusters.
func kubectlAsks(args []string) bool {
	command := ""
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, _ := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-h", "--help", "--client", "--kubeconfig", "--server", "-s"}, name):
			return false
		case slices.Contains(kubectlValues, args[i]):
			i++
		case command == "" && !strings.HasPrefix(name, "-"):
			command = name
		}
	}
	return !slices.Contains([]string{"", "help", "completion", "config", "options", "plugin", "kustomize", "__complete", "__completeNoDesc"}, command)
}
