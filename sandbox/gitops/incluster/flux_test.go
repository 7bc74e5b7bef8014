package incluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// names are the objects as KIND NAMESPACE/NAME, in their order.
func names(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()))
	}
	return all
}

// podsOfWorkload returns what the workload of that name runs.
func podsOfWorkload(t *testing.T, objects []*unstructured.Unstructured, name string) corev1.PodSpec {
	t.Helper()
	for _, o := range objects {
		spec, ok, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		if !ok || o.GetName() != name {
			continue
		}
		var pod corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	t.Fatalf("no workload %s", name)
	return corev1.PodSpec{}
}

func TestManifestsOfFlux(t *testing.T) {
	f := testFlux(t)
	objects, err := f.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := names(objects)
	if got[0] != "Namespace /flux-system" {
		t.Errorf("the first is %s", got[0])
	}
	if last := got[len(got)-1]; last != "CustomResourceDefinition /gitrepositories.source.toolkit.fluxcd.io" {
		t.Errorf("the last is %s", last)
	}
	want := []string{
		"ClusterRole /crd-controller-flux-system",
		"ClusterRole /flux-edit-flux-system",
		"ClusterRole /flux-view-flux-system",
		"ClusterRoleBinding /cluster-reconciler-flux-system",
		"ClusterRoleBinding /crd-controller-flux-system",
		"Deployment flux-system/kustomize-controller",
		"Deployment flux-system/source-controller",
		"ResourceQuota flux-system/critical-pods-flux-system",
		"Service flux-system/source-controller",
		"ServiceAccount flux-system/kustomize-controller",
		"ServiceAccount flux-system/source-controller",
	}
	rest := slices.Sorted(slices.Values(got[1 : len(got)-1]))
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Error(diff)
	}
	for _, o := range objects[:len(objects)-1] {
		if o.GetLabels()["app.kubernetes.io/part-of"] != "flux" || o.GetLabels()["app.kubernetes.io/version"] != "v1.2.3" {
			t.Errorf("%s %s has the labels %v", o.GetKind(), o.GetName(), o.GetLabels())
		}
	}
}

func TestPodsOfFlux(t *testing.T) {
	f := testFlux(t)
	images, err := f.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := f.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		sourceController: {
			"--events-addr=", "--watch-all-namespaces=true", "--log-level=info", "--log-encoding=json",
			"--storage-path=/data", "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.",
			"--min-retry-delay=250ms", "--max-retry-delay=30s", "--requeue-dependency=2s",
		},
		kustomizeController: {
			"--events-addr=", "--watch-all-namespaces=true", "--log-level=info", "--log-encoding=json",
			"--min-retry-delay=250ms", "--max-retry-delay=30s", "--requeue-dependency=2s",
			"--feature-gates=CancelHealthCheckOnNewRevision=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podsOfWorkload(t, objects, name)
			c := pod.Containers[0]
			if diff := cmp.Diff(args, c.Args); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(c.Command, []string{"/usr/local/bin/flux", name}) || c.Image != images[0].Name || c.ImagePullPolicy != corev1.PullNever {
				t.Errorf("it runs %q of %s, pulled %s", c.Command, c.Image, c.ImagePullPolicy)
			}
			if pod.ServiceAccountName != name || pod.PriorityClassName != "system-cluster-critical" {
				t.Errorf("account %s, priority %s", pod.ServiceAccountName, pod.PriorityClassName)
			}
			if c.ReadinessProbe.PeriodSeconds != probePeriod {
				t.Errorf("asked every %d s", c.ReadinessProbe.PeriodSeconds)
			}
		})
	}
	forge(t, podsOfWorkload(t, objects, sourceController), images[1].Name)
	if pod := podsOfWorkload(t, objects, kustomizeController); len(pod.InitContainers) > 0 {
		t.Errorf("%s has %v", kustomizeController, pod.InitContainers)
	}
}

// forge checks that the pod has the sidecar, and only that before it starts.
func forge(t *testing.T, pod corev1.PodSpec, image string) {
	t.Helper()
	if len(pod.InitContainers) != 1 {
		t.Fatalf("%d init containers", len(pod.InitContainers))
	}
	c := pod.InitContainers[0]
	if c.Name != "forge" || c.Image != image || c.ImagePullPolicy != corev1.PullNever {
		t.Errorf("%s runs %s, pulled %s", c.Name, c.Image, c.ImagePullPolicy)
	}
	if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("it does not stay")
	}
	if want := []string{"forward", "--listen=127.0.0.1:20003", "--to=[$(NODE)]:20003"}; !slices.Equal(c.Args, want) {
		t.Errorf("its arguments are %q, want %q", c.Args, want)
	}
	if len(c.Env) != 1 || c.Env[0].Name != "NODE" || c.Env[0].ValueFrom.FieldRef.FieldPath != "status.hostIP" {
		t.Errorf("its variables are %v", c.Env)
	}
}

func TestFluxWithoutItsManifests(t *testing.T) {
	for _, file := range []string{"manager/source-controller/deployment.yaml", "manager/source-controller/kustomization.yaml", "crds/gitrepositories.yaml"} {
		f := testFlux(t)
		if err := os.Remove(filepath.Join(f.Staged("flux"), filepath.FromSlash(file))); err != nil {
			t.Fatal(err)
		}
		_, err := f.Objects(t.Context())
		if err == nil || !strings.Contains(err.Error(), filepath.Base(filepath.Dir(file))) {
			t.Errorf("without %s: %v", file, err)
		}
	}
}
