package main

import (
	"os"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

// What follows is for machines that kubeadm sets up, such as the nodes of
// kind: there each part of the control plane is a process of its own, with the
// flags of the upstream program of that name.

func runKubeadm([]string) error {
	kubeadmerrors.HandleError(kubeadm.Run())
	return nil
}

func runAPIServerAlone([]string) error {
	os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	return nil
}

func runControllersAlone([]string) error {
	os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	return nil
}

func runSchedulerAlone([]string) error {
	os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	return nil
}

// runEtcd serves the sandbox's etcd if it is called with that one's flags, and
// is the upstream program otherwise.
func runEtcd(args []string) error {
	for _, a := range args {
		if strings.HasPrefix(a, "--socket=") {
			return runSandboxEtcd(args)
		}
	}
	etcdmain.Main(os.Args)
	return nil
}
