// Package gitops runs reconcilers on the sandbox's clusters and subscribes the
// clusters to the platform's GitOps repository.
package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	fluxDeadline     = 60 * time.Second
	establishedLimit = 30 * time.Second

	// subscriptionRetry is how soon what could not be applied is tried again,
	// since its cause may be mended without a push.
	subscriptionRetry = 10 * time.Second

	// FluxNamespace is where Flux and Azure Arc keep their objects.
	FluxNamespace = "flux-system"
)

// Flux is source-controller and kustomize-controller as one child process that
// works on one cluster from outside.
type Flux struct {
	supervisor.Host
	Cluster    string
	Listener   string // of the artifact server
	Kubeconfig string // file with the cluster's administrator
	// Connect makes the client that installs; nil is one of the kubeconfig's.
	Connect func() (*cluster.Client, error)
	Dir     string // folder for artifacts
	// Token opens the artifact server. It is kept on the cluster like the port.
	Token string
	// Events is where the controllers post what they have done, "" for nowhere.
	Events string
}

// Name of the unit.
func (f Flux) Name() string { return "flux-" + f.Cluster }

// Unit installs Flux's kinds on the cluster and runs the controllers.
func (f Flux) Unit(needs ...string) supervisor.Unit {
	address := f.Address(f.Listener)
	p := f.Process(f.Name(), f.Dir)
	p.Env = slices.Concat(f.Env, []string{"RUNTIME_NAMESPACE=" + FluxNamespace, "KALYPSO_ARTIFACT_TOKEN=" + f.Token, "KALYPSO_EVENTS_ADDR=" + f.Events})
	p.Check = func(ctx context.Context) error { return loopback.Answers(ctx, "http://"+address+"/healthz") }
	p.Prepare = func(ctx context.Context) error {
		p.Path = filepath.Join(f.Staged("flux"), "flux")
		p.Argv = []string{"flux",
			"--kubeconfig=" + f.Kubeconfig,
			"--storage-path=" + filepath.Join(f.Dir, "artifacts"),
			"--storage-addr=" + address,
		}
		if err := os.MkdirAll(filepath.Join(f.Dir, "artifacts"), 0o700); err != nil {
			return err
		}
		if err := f.PortFree(f.Listener); err != nil {
			return err
		}
		return f.install(ctx)
	}
	return supervisor.Unit{Name: f.Name(), Title: "Flux on cluster " + f.Cluster, Needs: needs, Component: p, Deadline: fluxDeadline, Log: p.Log}
}

func connect(with func() (*cluster.Client, error), kubeconfig string) (*cluster.Client, error) {
	if with != nil {
		return with()
	}
	return cluster.NewClient(kubeconfig, "")
}

var namespaceManifest = fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata:
  name: %s
`, FluxNamespace)

var customResourceDefinition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// install puts Flux's kinds and its namespace on the cluster and waits until
// the API server serves the kinds.
func (f Flux) install(ctx context.Context) error {
	client, err := connect(f.Connect, f.Kubeconfig)
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, []byte(namespaceManifest)); err != nil {
		return err
	}
	return InstallKinds(ctx, client, filepath.Join(f.Staged("flux"), "crds"))
}

// nudgeAfter is well beyond what establishing a kind takes.
const nudgeAfter = time.Second

// established waits until the API server serves a kind. An API server that was
// killed between accepting a kind's names and establishing it does not go on
// when it starts again: it acts on changes only. So it gets one.
func established(ctx context.Context, definitions dynamic.ResourceInterface, name string) error {
	last := time.Now()
	return retry.Until(ctx, "definition "+name, establishedLimit, func(ctx context.Context) error {
		o, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		err = cluster.Condition(o, "Established")
		if err == nil || time.Since(last) < nudgeAfter || cluster.Foreign(o) {
			return err
		}
		last = time.Now()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"kalypso.dev/nudged":%q}}}`, last.UTC().Format(time.RFC3339Nano))
		_, patchErr := definitions.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kalypso-nudge"})
		return errors.Join(err, patchErr)
	})
}

// Subscription makes a cluster follow a folder of a GitOps repository, as the
// command `az k8s-configuration flux create` does.
type Subscription struct {
	Name     string // of the Flux configuration, e.g. platform-dev
	URL      string
	Branch   string
	Path     string
	User     string // of the https credentials
	Token    string
	Interval time.Duration
}

// Manifests are the objects that Azure Arc's agent makes for the
// configuration: the credentials NAME-auth, the GitRepository NAME, and the
// Kustomization NAME-NAME
// (learn.microsoft.com/azure/azure-arc/kubernetes/conceptual-gitops-flux2).
func (s Subscription) Manifests() ([]byte, error) {
	interval, retry := s.Interval.String(), min(s.Interval, subscriptionRetry).String()
	return manifests(
		fluxSecret(s.Name+"-auth", s.User, s.Token),
		object("source.toolkit.fluxcd.io/v1", "GitRepository", FluxNamespace, s.Name, map[string]any{
			"spec": map[string]any{
				"interval":  interval,
				"url":       s.URL,
				"ref":       map[string]any{"branch": s.Branch},
				"secretRef": map[string]any{"name": s.Name + "-auth"},
			},
		}),
		object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", FluxNamespace, s.Name+"-"+s.Name, map[string]any{
			"spec": map[string]any{
				"interval":      interval,
				"retryInterval": retry,
				"path":          s.Path,
				"prune":         true,
				"sourceRef":     map[string]any{"kind": "GitRepository", "name": s.Name},
			},
		}),
	)
}

// FluxSecret has https credentials that GitRepositories name as their secretRef.
func FluxSecret(name, user, token string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fluxSecret(name, user, token)}
}

func fluxSecret(name, user, token string) map[string]any {
	return object("v1", "Secret", FluxNamespace, name, map[string]any{
		"type":       "Opaque",
		"stringData": map[string]any{"username": user, "password": token},
	})
}

func object(apiVersion, kind, namespace, name string, rest map[string]any) map[string]any {
	o := map[string]any{
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata":   map[string]any{"name": name, "namespace": namespace},
	}
	for k, v := range rest {
		o[k] = v
	}
	return o
}

var gitRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}

// waveOr is the branch of a rollout's wave where an object follows one: a user has put the cluster
// into the wave, and there it stays. Otherwise it is the branch that is given.
func waveOr(ctx context.Context, client *cluster.Client, branch string, kind schema.GroupVersionKind, namespace, name string, field ...string) (string, error) {
	o, err := client.Find(ctx, kind, namespace, name)
	if err != nil || o == nil {
		return branch, err
	}
	now, _, err := unstructured.NestedString(o.Object, field...)
	if _, is := rollout.EnvironmentOf(now); is {
		return now, err
	}
	return branch, err
}

// Subscribe puts the subscription on the cluster and waits until Flux has
// fetched the repository once. The folder itself need not be there yet. A cluster that follows the
// branch of a wave goes on with that.
func Subscribe(ctx context.Context, client *cluster.Client, s Subscription, limit time.Duration) error {
	var err error
	if s.Branch, err = waveOr(ctx, client, s.Branch, gitRepository, FluxNamespace, s.Name, "spec", "ref", "branch"); err != nil {
		return err
	}
	manifests, err := s.Manifests()
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, manifests); err != nil {
		return err
	}
	return retry.Until(ctx, "GitRepository "+s.Name, limit, func(ctx context.Context) error {
		o, err := client.Get(ctx, gitRepository, FluxNamespace, s.Name)
		if err != nil {
			return err
		}
		return readyNow(o)
	})
}

// readyNow is Condition Ready of the present generation.
func readyNow(o *unstructured.Unstructured) error {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if observed != o.GetGeneration() {
		return fmt.Errorf("%s %s: generation %d not observed yet", o.GetKind(), o.GetName(), o.GetGeneration())
	}
	return cluster.Condition(o, "Ready")
}
