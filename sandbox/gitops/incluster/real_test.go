package incluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/wait"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	realLimit = 3 * time.Minute
	pushLimit = 20 * time.Second
)

func portText(port int) string { return strconv.Itoa(port) }

// realWorld is a cluster with a real node, and a forge that it reaches.
type realWorld struct {
	dir        string
	kubeconfig string
	client     *cluster.Client
	forge      realForge
	stopRelay  func()
}

// newRealWorld needs
//
//	KALYPSO_TEST_INCLUSTER  FOLDER:KUBECONFIG, the folder with the staged
//	                        components flux, argocd and relay in folders of
//	                        these names, and the administrator of a cluster
//	                        that may be written to
//	KALYPSO_TEST_LOAD       a shell command that loads an image's archive from
//	                        its standard input into the node
//	KALYPSO_TEST_RELAY      a shell command that is the program relay on the node
//
// and may have
//
//	KALYPSO_TEST_RESTART    a shell command that restarts the node
func newRealWorld(t *testing.T) *realWorld {
	t.Helper()
	dir, kubeconfig, ok := strings.Cut(os.Getenv("KALYPSO_TEST_INCLUSTER"), ":")
	if !ok {
		t.Skip("KALYPSO_TEST_INCLUSTER does not name a folder:kubeconfig")
	}
	client, err := cluster.NewClient(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	w := &realWorld{dir: dir, kubeconfig: kubeconfig, client: client, forge: newRealForge(t)}
	w.stopRelay = startRelay(t, os.Getenv("KALYPSO_TEST_RELAY"), w.forge.port)
	t.Cleanup(func() { w.stopRelay() })
	return w
}

func (w *realWorld) staged(name string) func() string {
	return func() string { return filepath.Join(w.dir, name) }
}

func (w *realWorld) load(t *testing.T, images []Image) {
	t.Helper()
	for _, i := range images {
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", os.Getenv("KALYPSO_TEST_LOAD"))
		r, pipe := io.Pipe()
		size := &counter{}
		go func() { pipe.CloseWithError(i.Write(io.MultiWriter(pipe, size))) }()
		cmd.Stdin = r
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("load %s: %v\n%s", i.Name, err, out)
		}
		t.Logf("%s: %d MB, loaded in %s", i.Name, size.n>>20, time.Since(began).Round(time.Millisecond))
	}
}

// inCluster is what Flux and ArgoCD have in common.
type inCluster interface {
	Images(ctx context.Context) ([]Image, error)
	Install(ctx context.Context, c *cluster.Client) error
	Ready(ctx context.Context, c *cluster.Client) error
	Objects(ctx context.Context) ([]*unstructured.Unstructured, error)
}

func (w *realWorld) install(t *testing.T, it inCluster) {
	t.Helper()
	began := time.Now()
	if err := it.Install(t.Context(), w.client); err != nil {
		t.Fatal(err)
	}
	t.Logf("installed in %s", time.Since(began).Round(time.Millisecond))
}

func (w *realWorld) ready(t *testing.T, it inCluster) {
	t.Helper()
	began := time.Now()
	if err := wait.For(t.Context(), "pods", realLimit, func(ctx context.Context) error { return it.Ready(ctx, w.client) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready %s later", time.Since(began).Round(time.Millisecond))
}

// up installs, sees what is said of an image that is missing, loads the images,
// and waits. Where they were loaded before, it tells how long a start takes.
func (w *realWorld) up(t *testing.T, it inCluster) {
	t.Helper()
	images, err := it.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.install(t, it)
	err = wait.For(t.Context(), "word of a missing image", realLimit, func(ctx context.Context) error {
		err := it.Ready(ctx, w.client)
		if err == nil || strings.Contains(err.Error(), "ErrImageNeverPull") {
			return nil
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s after the beginning: %v", time.Since(began).Round(time.Millisecond), it.Ready(t.Context(), w.client))
	w.load(t, images)
	w.ready(t, it)
	w.install(t, it) // changes nothing
	if err := it.Ready(t.Context(), w.client); err != nil {
		t.Errorf("installed again: %v", err)
	}
}

// down removes it all, and looks for what is left.
func (w *realWorld) down(t *testing.T, it inCluster) {
	t.Helper()
	objects, err := it.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := Remove(t.Context(), w.client, objects, realLimit); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed in %s", time.Since(began).Round(time.Millisecond))
	for _, o := range objects {
		door, err := w.client.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			continue // its kind is gone
		}
		if _, err := door.Get(t.Context(), o.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s %s is left: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func (w *realWorld) value(t *testing.T, want string) {
	t.Helper()
	configMaps, err := w.client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "kalypso-test")
	if err != nil {
		t.Fatal(err)
	}
	err = wait.For(t.Context(), "value "+want, realLimit, func(ctx context.Context) error {
		o, err := configMaps.Get(ctx, "kalypso-test", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(o.Object, "data", "value"); got != want {
			return fmt.Errorf("value is %v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// follow pushes, tells of it as the sandbox's notifier does, and waits until it
// is on the cluster.
func (w *realWorld) follow(t *testing.T, poke func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error) {
	t.Helper()
	value := strings.ToLower(rand.Text()[:8])
	commit := w.forge.push(t, value)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), pushLimit)
	defer cancel()
	if err := poke(ctx, w.client, "test/gitops", "dev", commit); err != nil {
		t.Log(err) // what is lost is made up for, as in a sandbox
	}
	w.value(t, value)
	t.Logf("push -> applied %s", time.Since(began).Round(time.Millisecond))
}

// restart ends all pods of a namespace without warning, and waits until others
// are there in their place.
func (w *realWorld) restart(t *testing.T, namespace string, it inCluster) {
	t.Helper()
	pods, err := w.client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	before, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	// until the cluster has seen it, it takes those of before for ready
	err = wait.For(t.Context(), "other pods", realLimit, func(ctx context.Context) error {
		after, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(after.Items) < len(before.Items) {
			err = fmt.Errorf("%d of %d pods", len(after.Items), len(before.Items))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.ready(t, it)
}

// restartNode ends the whole node, and waits until all is there again.
func (w *realWorld) restartNode(t *testing.T, it inCluster) {
	t.Helper()
	command := os.Getenv("KALYPSO_TEST_RESTART")
	if command == "" {
		t.Log("KALYPSO_TEST_RESTART is not set: the node is not restarted")
		return
	}
	w.stopRelay()
	began := time.Now()
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("restarted in %s", time.Since(began).Round(time.Millisecond))
	w.stopRelay = startRelay(t, os.Getenv("KALYPSO_TEST_RELAY"), w.forge.port)
	if err := wait.For(t.Context(), "API server", realLimit, w.client.Healthy); err != nil {
		t.Fatal(err)
	}
	w.ready(t, it)
}

func TestFluxForReal(t *testing.T) {
	w := newRealWorld(t)
	f := Flux{Staged: w.staged("flux"), Relay: w.staged("relay"), ForgePort: w.forge.port}
	t.Cleanup(func() { w.removeNamespace(t) })
	w.up(t, f)
	w.forge.push(t, "one")
	err := gitops.Subscribe(t.Context(), w.client, gitops.Subscription{
		Name: "kalypso-test", URL: w.forge.url(), Branch: "dev", Path: "large",
		User: realUser, Token: realToken, Interval: time.Minute,
	}, realLimit)
	if err != nil {
		t.Fatal(err)
	}
	w.value(t, "one")
	w.follow(t, gitops.PokeFlux)
	w.restart(t, gitops.FluxNamespace, f)
	w.follow(t, gitops.PokeFlux)
	w.restartNode(t, f)
	w.follow(t, gitops.PokeFlux)
	w.down(t, f)
	// Flux has taken away what it had applied
	configMaps, err := w.client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "kalypso-test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Get(t.Context(), "kalypso-test", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what Flux had applied is left: %v", err)
	}
}

func TestArgoCDForReal(t *testing.T) {
	w := newRealWorld(t)
	a := ArgoCD{
		Staged: w.staged("argocd"), Relay: w.staged("relay"), ForgePort: w.forge.port,
		URL: "https://localhost:8080", Password: "correct-horse",
	}
	t.Cleanup(func() { w.removeNamespace(t) })
	w.up(t, a)
	w.logIn(t, a)
	w.forge.push(t, "one")
	err := gitops.SubscribeArgoCD(t.Context(), w.client, gitops.ArgoCDSubscription{
		Repositories: []gitops.ArgoCDRepository{{URL: w.forge.url(), User: realUser, Token: realToken}},
		Applications: []gitops.ArgoCDApplication{{Name: "kalypso-test", URL: w.forge.url(), Branch: "dev", Path: "large"}},
	}, realLimit)
	if err != nil {
		t.Fatal(err)
	}
	w.value(t, "one")
	w.follow(t, gitops.RefreshArgoCD)
	w.restart(t, gitops.ArgoCDNamespace, a)
	w.logIn(t, a)
	w.follow(t, gitops.RefreshArgoCD)
	w.restartNode(t, a)
	w.follow(t, gitops.RefreshArgoCD)
	w.down(t, a)
}

// logIn asks Argo CD through the cluster's API server.
func (w *realWorld) logIn(t *testing.T, a ArgoCD) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	base := config.Host + "/api/v1/namespaces/argocd/services/https:argocd-server:https/proxy"
	for password, want := range map[string]int{a.Password: http.StatusOK, "wrong": http.StatusUnauthorized} {
		body, err := json.Marshal(map[string]string{"username": gitops.ArgoCDUser, "password": password})
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Post(base+"/api/v1/session", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("log in with %q: %d, want %d: %s", password, r.StatusCode, want, text)
		}
	}
	r, err := client.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if page, err := io.ReadAll(r.Body); err != nil || !bytes.Contains(page, []byte("<script")) {
		t.Errorf("the start page is %q, error %v", page, err)
	}
}

func (w *realWorld) removeNamespace(t *testing.T) {
	namespaces, err := w.client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
	if err == nil {
		err = namespaces.Delete(context.Background(), "kalypso-test", metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
