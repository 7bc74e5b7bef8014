package incluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestManifestsOfArgoCD(t *testing.T) {
	objects, err := testArgoCD(t).Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Namespace /argocd",
		"ConfigMap argocd/argocd-cm",
		"ConfigMap argocd/argocd-rbac-cm",
		"AppProject argocd/default",
		"Secret argocd/argocd-secret",
		"Secret argocd/argocd-initial-admin-secret",
		"Secret argocd/argocd-redis",
		"ConfigMap argocd/argocd-cmd-params-cm",
		"ServiceAccount argocd/argocd-server",
		"ClusterRole /argocd-server",
		"ConfigMap argocd/argocd-tls-certs-cm",
		"Service argocd/argocd-server",
		"Deployment argocd/argocd-server",
		"Deployment argocd/argocd-repo-server",
		"Deployment argocd/argocd-redis",
		"StatefulSet argocd/argocd-application-controller",
		"CustomResourceDefinition /applications.argoproj.io",
		"CustomResourceDefinition /appprojects.argoproj.io",
	}
	if diff := cmp.Diff(want, names(objects)); diff != "" {
		t.Error(diff)
	}
}

func TestPodsOfArgoCD(t *testing.T) {
	a := testArgoCD(t)
	images, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := a.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range argoCDParts {
		pod := podsOfWorkload(t, objects, part)
		c := pod.Containers[0]
		if c.Args[0] != "/usr/local/bin/"+part || c.Image != images[0].Name || c.ImagePullPolicy != "Never" {
			t.Errorf("%s runs %q of %s, pulled %s", part, c.Args, c.Image, c.ImagePullPolicy)
		}
		quiet := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GRPC_ENABLE_TXT_SERVICE_CONFIG" && e.Value == "false" })
		if !quiet && part != "argocd-redis" {
			t.Errorf("%s asks an external DNS server for each connection", part)
		}
		if part == "argocd-repo-server" {
			forge(t, pod, images[1].Name)
		} else if len(pod.InitContainers) > 0 {
			t.Errorf("%s has %v before it", part, pod.InitContainers)
		}
	}
	server := podsOfWorkload(t, objects, "argocd-server").Containers[0]
	if p := server.ReadinessProbe; p.InitialDelaySeconds != 0 || p.PeriodSeconds != probePeriod {
		t.Errorf("it is asked after %d s and then every %d s", p.InitialDelaySeconds, p.PeriodSeconds)
	}
	for _, o := range objects {
		// or the one that mends a pod waits for it
		if p, _, _ := unstructured.NestedString(o.Object, "spec", "podManagementPolicy"); o.GetKind() == "StatefulSet" && p != "Parallel" {
			t.Errorf("pods of %s are managed %q", o.GetName(), p)
		}
	}
}

func TestArgoCDIsInsecureWhereItsURLSaysSo(t *testing.T) {
	for url, want := range map[string]string{"https://localhost:1": "", "": "", "http://localhost:1": "true"} {
		a := testArgoCD(t)
		a.URL = url
		objects, err := a.Objects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() == "argocd-cmd-params-cm" })
		if got, _, _ := unstructured.NestedString(objects[i].Object, "data", "server.insecure"); got != want {
			t.Errorf("%q: insecure is %q, want %q", url, got, want)
		}
	}
}

func TestArgoCDIsComparedWithoutAPush(t *testing.T) {
	objects, err := testArgoCD(t).Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(objects[1].Object, "data")
	if data["timeout.reconciliation"] != "1m0s" || data["timeout.reconciliation.jitter"] != "0s" || data["url"] != "https://localhost:20004" {
		t.Errorf("settings are %v", data)
	}
}

func TestArgoCDWithoutItsFiles(t *testing.T) {
	for _, file := range []string{"install.yaml", "ui/index.html", "argocd"} {
		a := testArgoCD(t)
		if err := os.RemoveAll(filepath.Join(a.Staged("argocd"), strings.TrimSuffix(file, "/index.html"))); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Objects(t.Context()); err == nil {
			t.Errorf("without %s it was installed", file)
		}
	}
}
