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

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// argoCDKept is what is taken of upstream's manifests: what belongs to these
// parts, and the settings that their pods cannot start without. Nothing here
// needs the others, which would cost a person's machine as much again.
var (
	argoCDKept         = []string{"server", "repo-server", "application-controller", "redis", "metrics"}
	argoCDKeptSettings = []string{"argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm", "argocd-gpg-keys-cm"}
)

// A namespace of a sandbox needs no walls.
const networkPolicy = "NetworkPolicy"

// manifests are upstream's, with our image.
func (a ArgoCD) manifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	image, err := a.image(ctx)
	if err != nil {
		return nil, err
	}
	relay, err := relayImage(a.Relay())
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
	b, err := os.ReadFile(filepath.Join(a.Staged(), "install.yaml"))
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
		err := editPod(o, func(spec *corev1.PodSpec) error {
			c, err := container(spec, o.GetName())
			if err == nil {
				image = c.Image
			}
			return err
		})
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
	return editPod(o, func(spec *corev1.PodSpec) error {
		name := o.GetName()
		// upstream's copy the program for plugins, and make the cache's password
		spec.InitContainers = nil
		if name == "argocd-redis" {
			c, err := container(spec, "redis")
			if err != nil {
				return err
			}
			c.Args = []string{"/usr/local/bin/argocd-redis", "--listen=:6379"}
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(6379)}}}
			useImage(c, image)
			return nil
		}
		c, err := container(spec, name)
		if err != nil {
			return err
		}
		useImage(c, image)
		c.Env = append(c.Env, argoCDVariables...)
		if name == "argocd-repo-server" {
			// the only one that speaks with a forge: the others ask it
			spec.InitContainers = []corev1.Container{forgeSidecar(relay, a.ForgePort)}
		}
		return nil
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
	secrets, err := c.Resource(wanted.GroupVersionKind(), wanted.GetNamespace())
	if err != nil {
		return err
	}
	there, err := secrets.Get(ctx, cacheSecretName, metav1.GetOptions{})
	if err == nil {
		if auth, _, _ := unstructured.NestedString(there.Object, "data", "auth"); auth != "" {
			return nil
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return apply(ctx, c, []*unstructured.Unstructured{wanted})
}
