package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestFlagsOfUpstreamsDeployments(t *testing.T) {
	for name, c := range map[string]struct {
		args       []string
		concurrent int
	}{
		sourceController: {[]string{
			"--events-addr=http://notification-controller.flux-system.svc.cluster.local./", "--watch-all-namespaces=true", "--log-level=info",
			"--log-encoding=json", "--enable-leader-election", "--storage-path=/data",
			"--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.",
		}, 2},
		kustomizeController: {[]string{
			"--events-addr=", "--watch-all-namespaces", "--log-level=debug", "--log-encoding=json", "--enable-leader-election",
			"--feature-gates=CancelHealthCheckOnNewRevision=true",
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := controllerAlone(name)
			if !ok {
				t.Fatal("not known")
			}
			fs := a.flags()
			fs.Init(name, pflag.ContinueOnError)
			if err := fs.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			if !a.election.Enable || !a.watch.AllNamespaces || a.concurrent != c.concurrent {
				t.Errorf("election %v, all namespaces %v, %d at one time", a.election.Enable, a.watch.AllNamespaces, a.concurrent)
			}
			if a.healthAddr != ":9440" || a.metricsAddr != ":8080" || a.retry.MinRetryDelay != 750*time.Millisecond {
				t.Errorf("not upstream's defaults: %+v", a)
			}
			if name == sourceController && (a.artifacts.StoragePath != "/data" || a.artifacts.StorageAddress != ":9090" || a.artifacts.StorageAdvAddress == "") {
				t.Errorf("artifacts are at %+v", a.artifacts)
			}
			if err := fs.Parse([]string{"--no-such-flag"}); err == nil {
				t.Error("any flag is taken")
			}
		})
	}
}

func TestOtherNamesAreNoController(t *testing.T) {
	for _, name := range []string{"", "flux", "--kubeconfig=x", "helm-controller"} {
		if _, ok := controllerAlone(name); ok {
			t.Errorf("%q is one", name)
		}
	}
}
