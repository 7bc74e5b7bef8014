package incluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workload is what runs pods of one kind.
type workload struct{ kind, name string }

// ready returns nil when all the workloads run as they are written now, and
// otherwise an error with each that does not, and why.
func ready(ctx context.Context, c *cluster.Client, namespace string, all ...workload) error {
	var not []error
	for _, w := range all {
		if err := w.ready(ctx, c, namespace); err != nil {
			not = append(not, fmt.Errorf("%s: %w", w.name, err))
		}
	}
	return errors.Join(not...)
}

func (w workload) ready(ctx context.Context, c *cluster.Client, namespace string) error {
	workloads, err := c.Resource(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.kind}, namespace)
	if err != nil {
		return err
	}
	o, err := workloads.Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	state, err := progress(o)
	if err != nil || state == "" {
		return err
	}
	pods, err := podsOf(ctx, c, o)
	if err != nil {
		return err
	}
	if why := troubles(pods); why != "" {
		state = why
	}
	return errors.New(state)
}

// progress says how far a workload is, "" when it is where it should be.
func progress(o *unstructured.Unstructured) (string, error) {
	// both kinds have these by the same names
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
		return "", err
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if d.Status.ObservedGeneration < d.Generation {
		return "not looked at by the cluster yet", nil
	}
	for _, c := range d.Status.Conditions {
		// such as a quota, or an account that is missing
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Reason + ": " + c.Message, nil
		}
	}
	if got := min(d.Status.UpdatedReplicas, d.Status.ReadyReplicas); got < want {
		return fmt.Sprintf("%d of %d pods are ready", got, want), nil
	}
	if d.Status.Replicas > d.Status.UpdatedReplicas {
		return "pods of before are still there", nil
	}
	return "", nil
}

func podsOf(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured) ([]corev1.Pod, error) {
	labels, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	if err != nil {
		return nil, err
	}
	door, err := c.Resource(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, o.GetNamespace())
	if err != nil {
		return nil, err
	}
	list, err := door.List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})})
	if err != nil {
		return nil, err
	}
	pods := make([]corev1.Pod, len(list.Items))
	for i, item := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &pods[i]); err != nil {
			return nil, err
		}
	}
	// what concerns the pods of now comes first
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return pods, nil
}

// troubles says what keeps the newest pod from being ready, "" when nothing
// does that will not pass by itself.
func troubles(pods []corev1.Pod) string {
	if len(pods) == 0 {
		return ""
	}
	p := pods[0]
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s has no node: %s: %s", p.Name, c.Reason, c.Message)
		}
	}
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if why := trouble(c); why != "" {
			return fmt.Sprintf("pod %s: container %s: %s", p.Name, c.Name, why)
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
	}
	return ""
}

func trouble(c corev1.ContainerStatus) string {
	var parts []string
	if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
		parts = append(parts, strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		parts = append(parts, ended(t))
	}
	// a container that runs again may yet become ready; why it ended is known
	if t := c.LastTerminationState.Terminated; t != nil && !c.Ready {
		parts = append(parts, fmt.Sprintf("ended %d times, last: %s", c.RestartCount, ended(t)))
	}
	return strings.Join(parts, "; ")
}

// lastWords is how much of what a container said at its end is told.
const lastWords = 400

func ended(t *corev1.ContainerStateTerminated) string {
	message := strings.TrimSpace(t.Message)
	if len(message) > lastWords {
		message = "..." + message[len(message)-lastWords:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%s with exit code %d: %s", t.Reason, t.ExitCode, message), ": ")
}
