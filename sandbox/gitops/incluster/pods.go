package incluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// probePeriod is how often a pod is asked whether it is ready: it is after a
// second or two, and a person waits for it.
const probePeriod = 2

// editPod changes the pods of a workload.
func editPod(o *unstructured.Unstructured, edit func(*corev1.PodSpec) error) error {
	found, ok, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if err == nil && !ok {
		err = fmt.Errorf("it has no pods")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	var spec corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found, &spec, true); err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err := edit(&spec); err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return unstructured.SetNestedMap(o.Object, changed, "spec", "template", "spec")
}

// useImage makes a container run our image, be ready as soon as it is, and tell
// its end in its status.
func useImage(c *corev1.Container, image string) {
	c.Image, c.ImagePullPolicy = image, corev1.PullNever
	c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	if c.ReadinessProbe != nil {
		c.ReadinessProbe.InitialDelaySeconds, c.ReadinessProbe.PeriodSeconds = 0, probePeriod
	}
}

// container returns a pod's container of that name.
func container(spec *corev1.PodSpec, name string) (*corev1.Container, error) {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i], nil
		}
	}
	return nil, fmt.Errorf("it has no container %s", name)
}
