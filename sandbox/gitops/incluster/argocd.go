package incluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// ArgoCD is Argo CD in namespace argocd: API server, repository server,
// application controller and cache, each in pods of its own.
type ArgoCD struct {
	supervisor.Host
	// URL is that of the web pages. Argo CD answers with TLS, as it does
	// by default, unless the URL says http.
	URL string
	// Password of gitops.ArgoCDUser, from the first time on until the user changes
	// it in Argo CD: 8 to 72 characters.
	Password string
}

const (
	// argoCDResync is how often an application is compared without a push, which
	// is only for a push that was lost.
	argoCDResync = time.Minute

	// argoCDUser runs everything in the image, as in upstream's.
	argoCDUser = 999

	// argoCDPages is where the API server looks for its pages.
	argoCDPages = "shared/app"
)

// argoCDParts are the parts, by the names that the program has for them.
var argoCDParts = []string{"argocd-server", "argocd-repo-server", "argocd-application-controller", "argocd-redis"}

// Images are the images that a node must have before [ArgoCD.Install].
func (a ArgoCD) Images(ctx context.Context) ([]Image, error) {
	main, err := a.image(ctx)
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(a.Staged("relay"))
	return []Image{main, relay}, err
}

// image has all parts, which are one program, the web pages and git.
func (a ArgoCD) image(ctx context.Context) (Image, error) {
	program := filepath.Join(a.Staged("argocd"), "argocd")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	version, err := a.version()
	if err != nil {
		return Image{}, err
	}
	git, err := findGit(ctx)
	if err != nil {
		return Image{}, err
	}
	if git.machine != machine {
		return Image{}, fmt.Errorf("git is a program for %s, and Argo CD for %s: kalypso and git must be for the same machine", git.machine, machine)
	}
	pages := filetree.Tree{}
	if err := pages.Files(argoCDPages, os.DirFS(filepath.Join(a.Staged("argocd"), "ui")), func(string) int64 { return 0o644 }); err != nil {
		return Image{}, fmt.Errorf("the image of Argo CD needs its web pages: %w", err)
	}
	programs, err := programLayer("usr/local/bin/argocd", program)
	if err != nil {
		return Image{}, err
	}
	for _, part := range argoCDParts {
		programs.Link("usr/local/bin/"+part, "argocd")
	}
	return blueprint{
		name:    "argocd",
		version: version,
		machine: machine,
		config: v1.Config{
			Env:        append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "USER=argocd"}, git.env...),
			User:       fmt.Sprint(argoCDUser),
			WorkingDir: "/home/argocd",
		},
		layers: []filetree.Tree{argoCDSystem(), trustLayer(), git.files, pages, programs},
	}.build()
}

// argoCDSystem is what a program expects of any system.
func argoCDSystem() filetree.Tree {
	t := filetree.Tree{}
	for name, content := range map[string]string{
		"etc/passwd":        fmt.Sprintf("root:x:0:0::/:/\nargocd:x:%[1]d:%[1]d::/home/argocd:/\n", argoCDUser),
		"etc/group":         fmt.Sprintf("root:x:0:\nargocd:x:%d:\n", argoCDUser),
		"etc/nsswitch.conf": "hosts: files dns\n",
	} {
		t.File(name, 0o644, []byte(content))
	}
	t.Folder("home/argocd", 0o755, argoCDUser)
	t.Folder("tmp", 0o755, argoCDUser)
	return t
}

func (a ArgoCD) settings() gitops.ArgoCDSettings {
	return gitops.ArgoCDSettings{
		Kinds: filepath.Join(a.Staged("argocd"), "crds"), URL: a.URL, Password: a.Password, Resync: argoCDResync,
	}
}

// insecure reports whether the API server answers without TLS.
func (a ArgoCD) insecure() bool { return strings.HasPrefix(a.URL, "http://") }

// Install puts Argo CD on the cluster, or makes what is there of it as it should
// be, and returns when the API server of the cluster serves its kinds. Whether
// it runs, [ArgoCD.Ready] reports.
func (a ArgoCD) Install(ctx context.Context, c *cluster.Client) error {
	objects, err := a.manifests(ctx)
	if err != nil {
		return err
	}
	if err := a.settings().Install(ctx, c); err != nil {
		return err
	}
	if err := setCachePassword(ctx, c); err != nil {
		return fmt.Errorf("password of the cache: %w", err)
	}
	return c.ApplyObjects(ctx, objects...)
}

// Ready returns nil when all parts are, and what is not ready yet and why
// otherwise. It does not wait.
func (a ArgoCD) Ready(ctx context.Context, c *cluster.Client) error {
	return ready(ctx, c, gitops.ArgoCDNamespace,
		workload{"Deployment", "argocd-redis"},
		workload{"Deployment", "argocd-repo-server"},
		workload{"StatefulSet", "argocd-application-controller"},
		workload{"Deployment", "argocd-server"})
}

// argoCDKept is what is taken of upstream's manifests: what belongs to these
// parts, and the settings that their pods cannot start without. Nothing here
// needs the others, which would need as much memory again.
var (
	argoCDKept         = []string{"server", "repo-server", "application-controller", "redis", "metrics"}
	argoCDKeptSettings = []string{"argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm", "argocd-gpg-keys-cm"}
)

// networkPolicy is left out: a sandbox's namespaces are not isolated.
const networkPolicy = "NetworkPolicy"

// manifests are upstream's, with our image.
func (a ArgoCD) manifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	image, err := a.image(ctx)
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(a.Staged("relay"))
	if err != nil {
		return nil, err
	}
	all, err := a.upstream()
	if err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{a.parameters()}
	for _, o := range all {
		if !argoCDKeeps(o) {
			continue
		}
		if kind := o.GetKind(); kind != "ClusterRole" && kind != "ClusterRoleBinding" {
			o.SetNamespace(gitops.ArgoCDNamespace)
		}
		if kind := o.GetKind(); kind == "Deployment" || kind == "StatefulSet" {
			if err := a.editPart(o, image.Name, relay.Name); err != nil {
				return nil, fmt.Errorf("manifests of Argo CD: %w", err)
			}
		}
		if o.GetKind() == "StatefulSet" {
			// in order, a pod that never was ready would keep the one that mends it waiting
			if err := unstructured.SetNestedField(o.Object, "Parallel", "spec", "podManagementPolicy"); err != nil {
				return nil, err
			}
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// upstream are the manifests that Argo CD is installed with elsewhere.
func (a ArgoCD) upstream() ([]*unstructured.Unstructured, error) {
	b, err := os.ReadFile(filepath.Join(a.Staged("argocd"), "install.yaml"))
	if err != nil {
		return nil, fmt.Errorf("manifests of Argo CD: %w", err)
	}
	all, err := cluster.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("manifests of Argo CD: %w", err)
	}
	return all, nil
}

// version is that of the image which upstream's manifests name.
func (a ArgoCD) version() (string, error) {
	all, err := a.upstream()
	if err != nil {
		return "", err
	}
	for _, o := range all {
		if o.GetKind() != "Deployment" || o.GetName() != "argocd-server" {
			continue
		}
		var image string
		err := editContainer(o, o.GetName(), func(c *corev1.Container, _ *corev1.PodSpec) { image = c.Image })
		if _, version, ok := strings.Cut(path.Base(image), ":"); ok && err == nil {
			return version, nil
		}
	}
	return "", errors.New("manifests of Argo CD: no argocd-server with an image of a version")
}

func argoCDKeeps(o *unstructured.Unstructured) bool {
	if o.GetKind() == networkPolicy {
		return false
	}
	return slices.Contains(argoCDKept, o.GetLabels()["app.kubernetes.io/component"]) ||
		o.GetKind() == "ConfigMap" && slices.Contains(argoCDKeptSettings, o.GetName())
}

// argoCDVariables are set in all parts but the cache.
var argoCDVariables = []corev1.EnvVar{
	// signatures of commits are not checked, so the image has no gpg
	{Name: "ARGOCD_GPG_ENABLED", Value: "false"},
	// Each new connection to the repository server would look in DNS for settings
	// of it, under names that only a server outside of the cluster may know. Where
	// there is none, that is seconds for each comparison.
	{Name: "GRPC_ENABLE_TXT_SERVICE_CONFIG", Value: "false"},
}

// editPart makes a part run our program in the place of upstream's.
func (a ArgoCD) editPart(o *unstructured.Unstructured, image, relay string) error {
	name := o.GetName()
	of := name
	if name == "argocd-redis" {
		of = "redis"
	}
	return editContainer(o, of, func(c *corev1.Container, spec *corev1.PodSpec) {
		// upstream's copy the program for plugins, and make the cache's password
		spec.InitContainers = nil
		switch name {
		case "argocd-redis":
			c.Args = []string{"/usr/local/bin/argocd-redis", "--listen=:6379"}
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(6379)}}}
		case "argocd-repo-server":
			// the only part that connects to a forge
			spec.InitContainers = []corev1.Container{forgeSidecar(relay, a.Port("gitea"))}
			fallthrough
		default:
			c.Env = append(c.Env, argoCDVariables...)
		}
		useImage(c, image)
	})
}

// parameters are the flags of the parts, which they read where they start.
func (a ArgoCD) parameters() *unstructured.Unstructured {
	data := map[string]any{}
	if a.insecure() {
		data["server.insecure"] = "true"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "argocd-cmd-params-cm", "namespace": gitops.ArgoCDNamespace,
			"labels": map[string]any{"app.kubernetes.io/name": "argocd-cmd-params-cm", "app.kubernetes.io/part-of": "argocd"},
		},
		"data": data,
	}}
}

const cacheSecretName = "argocd-redis"

func cacheSecret(password string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": cacheSecretName, "namespace": gitops.ArgoCDNamespace},
	}}
	if password != "" {
		o.Object["type"], o.Object["stringData"] = "Opaque", map[string]any{"auth": password}
	}
	return o
}

// setCachePassword makes up a password for the cache, unless there is one: the
// pods that run have read it when they started.
func setCachePassword(ctx context.Context, c *cluster.Client) error {
	wanted := cacheSecret(rand.Text())
	there, err := c.Find(ctx, wanted.GroupVersionKind(), wanted.GetNamespace(), cacheSecretName)
	if err != nil {
		return err
	}
	if there != nil {
		if auth, _, _ := unstructured.NestedString(there.Object, "data", "auth"); auth != "" {
			return nil
		}
	}
	return c.ApplyObjects(ctx, wanted)
}
