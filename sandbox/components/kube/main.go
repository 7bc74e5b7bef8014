// Command kube is one program that is etcd, a whole Kubernetes control plane,
// a node's kubelet and kube-proxy, kubeadm and kubectl: argv[0] says which. One
// program instead of nine keeps the payload small, since nearly all of their
// code is shared.
//
// Names and flags are those of the upstream programs, so that a node which
// kubeadm sets up finds what it expects. Two are the sandbox's own:
// control-plane, which is three programs in one process, and an etcd that is
// called with --socket.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs are what this binary can be; each gets the arguments after its name.
var programs = map[string]func(args []string) error{
	"etcd":                    runEtcd,
	"control-plane":           runControlPlane,
	"kubeadm":                 runKubeadm,
	"kubectl":                 runKubectl,
	"kubelet":                 runKubelet,
	"kube-apiserver":          runAPIServerAlone,
	"kube-controller-manager": runControllersAlone,
	"kube-proxy":              runProxy,
	"kube-scheduler":          runSchedulerAlone,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := programs[name]; !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	run, ok := programs[name]
	if !ok {
		names := make([]string, 0, len(programs))
		for n := range programs {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: kube %s [flags]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func runKubectl([]string) error {
	os.Args[0] = "kubectl"
	os.Exit(runCobra(cmd.NewDefaultKubectlCommand()))
	return nil
}

func runKubelet([]string) error {
	os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	return nil
}

func runProxy([]string) error {
	os.Exit(cli.Run(proxy.NewProxyCommand()))
	return nil
}

// runCobra reports errors itself, as the upstream kubectl does.
func runCobra(c *cobra.Command) int {
	if err := cli.RunNoErrOutput(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
