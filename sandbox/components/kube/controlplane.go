package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	compat "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controlleroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

const (
	readyLimit = 60 * time.Second
	readyPoll  = 25 * time.Millisecond
)

// enabledControllers are the controllers that the tutorials' objects need.
// Each one left out is informers, memory and start time saved.
var enabledControllers = []string{
	"namespace-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"garbage-collector-controller",
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"daemonset-controller",
	"job-controller",
	"cronjob-controller",
	"endpointslice-controller",
	"endpoints-controller",
	"pod-garbage-collector-controller",
	"disruption-controller",
	"clusterrole-aggregation-controller",
	"node-lifecycle-controller",
	"resourcequota-controller",
	"horizontal-pod-autoscaler-controller",
	// claims get the volumes that kalypso makes for them, and can go again: the API
	// server gives each a finalizer that only these take away
	"persistentvolume-binder-controller",
	"persistentvolumeclaim-protection-controller",
	"persistentvolume-protection-controller",
	"ephemeral-volume-controller",
}

// runControlPlane runs kube-apiserver, kube-controller-manager and
// kube-scheduler of one cluster in this process. They share a Go heap and the
// pages of one binary, and still talk to each other only through the API
// server's port. It returns at a signal, or with the error of the
// first of the three that ends by itself.
func runControlPlane(args []string) error {
	fs := flag.NewFlagSet("control-plane", flag.ContinueOnError)
	name := fs.String("name", "", "cluster name; also the etcd prefix")
	pki := fs.String("pki", "", "folder of certificates, keys and kubeconfigs")
	etcd := fs.String("etcd", "", "socket of etcd")
	port := fs.Int("port", 0, "port of the API server on 127.0.0.1")
	egress := fs.String("egress", "", "egress selector configuration; how the API server reaches nodes, pods and services")
	if err := fs.Parse(args); err != nil {
		return err
	}
	file := func(n string) string { return filepath.Join(*pki, n) }

	settleMemory()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	// feature gates are one set for the whole process and must be settled
	// before the first component reads one
	if err := compat.DefaultComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	if err := waitForSocket(ctx, *etcd); err != nil {
		return err
	}

	ended := make(chan error, 3)
	api := apiserveroptions.NewServerRunOptions()
	flags := []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", *port),
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--etcd-prefix=/" + *name,
		"--tls-cert-file=" + file("apiserver.crt"),
		"--tls-private-key-file=" + file("apiserver.key"),
		"--client-ca-file=" + file("ca.crt"),
		"--kubelet-client-certificate=" + file("kubelet-client.crt"),
		"--kubelet-client-key=" + file("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + file("sa.pub"),
		"--service-account-signing-key-file=" + file("sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC",
		// all who have a right to ask have a certificate or a token
		"--anonymous-auth=false",
		"--allow-privileged=true",
		"--profiling=false",
		"--enable-priority-and-fairness=false",
		"--watch-cache=false",
	}
	if *egress != "" {
		flags = append(flags, "--egress-selector-config-file="+*egress)
	}
	if err := setFlags(api.Flags(), flags); err != nil {
		return err
	}
	// not by its flag, which takes a path with a comma for two
	api.Etcd.StorageConfig.Transport.ServerList = []string{etcdEndpoint(*etcd)}
	go func() { ended <- fmt.Errorf("kube-apiserver: %w", runAPIServer(ctx, api)) }()

	if err := waitForAPI(ctx, file("admin.kubeconfig"), ended); err != nil {
		return stopped(ctx, err)
	}
	go func() { ended <- fmt.Errorf("kube-controller-manager: %w", runControllers(ctx, file)) }()
	go func() { ended <- fmt.Errorf("kube-scheduler: %w", runScheduler(ctx, file)) }()
	return stopped(ctx, <-ended)
}

// stopped turns the error of a component that was stopped into none.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var errEnded = errors.New("ended by itself")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

func runAPIServer(ctx context.Context, o *apiserveroptions.ServerRunOptions) error {
	complete, err := o.Complete(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(complete.Validate()...); err != nil {
		return err
	}
	return orEnded(apiserver.Run(ctx, complete))
}

func runControllers(ctx context.Context, file func(string) string) error {
	o, err := controlleroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, off, aliases := controllers.KnownControllers(), controllers.ControllersDisabledByDefault(), controllers.ControllerAliases()
	if err := setFlags(o.Flags(known, off, aliases), []string{
		"--kubeconfig=" + file("controller-manager.kubeconfig"),
		"--controllers=" + strings.Join(enabledControllers, ","),
		"--leader-elect=false",
		"--profiling=false",
		"--secure-port=0",
		"--root-ca-file=" + file("ca.crt"),
		"--service-account-private-key-file=" + file("sa.key"),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}); err != nil {
		return err
	}
	c, err := o.Config(ctx, known, off, aliases)
	if err != nil {
		return err
	}
	return orEnded(controllers.Run(ctx, c.Complete()))
}

func runScheduler(ctx context.Context, file func(string) string) error {
	o := scheduleroptions.NewOptions()
	if err := setFlags(*o.Flags, []string{
		"--kubeconfig=" + file("scheduler.kubeconfig"),
		"--leader-elect=false",
		"--profiling=false",
		"--secure-port=0",
	}); err != nil {
		return err
	}
	c, s, err := scheduler.Setup(ctx, o)
	if err != nil {
		return err
	}
	return orEnded(scheduler.Run(ctx, c, s))
}

// setFlags parses args into options. The upstream option types are made for
// flags only: many defaults are set, and all checks made, on that road.
func setFlags(sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range sets.FlagSets {
		all.AddFlagSet(s)
	}
	return all.Parse(args)
}

// waitForSocket lets the control plane be started together with etcd: the API
// server gives up on an etcd that is not there yet.
func waitForSocket(ctx context.Context, path string) error {
	return poll(ctx, "etcd", nil, func(ctx context.Context) error {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

func waitForAPI(ctx context.Context, kubeconfig string, ended <-chan error) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	began := time.Now()
	err = poll(ctx, "kube-apiserver", ended, func(ctx context.Context) error {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
	if err == nil {
		fmt.Fprintf(os.Stderr, "control-plane: API server ready after %s\n", time.Since(began).Round(time.Millisecond))
	}
	return err
}

// poll waits until check succeeds, or what it waits for has ended.
func poll(ctx context.Context, what string, ended <-chan error, check func(context.Context) error) error {
	var reason error
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyLimit, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, err
		default:
		}
		reason = check(ctx)
		return reason == nil, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s is not ready after %s: %w", what, readyLimit, reason)
	}
	return err
}
