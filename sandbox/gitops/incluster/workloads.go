package incluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// probePeriod is the seconds between two readiness probes: a pod is ready after a
// second or two, and the user waits for it.
const probePeriod = 2

// editContainer changes a container of a workload's pods, and the pods around it.
func editContainer(o *unstructured.Unstructured, name string, edit func(*corev1.Container, *corev1.PodSpec)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}()
	found, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if err != nil {
		return err
	}
	var spec corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found, &spec, true); err != nil {
		return err
	}
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return fmt.Errorf("it has no container %s", name)
	}
	edit(&spec.Containers[i], &spec)
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return err
	}
	return unstructured.SetNestedMap(o.Object, changed, "spec", "template", "spec")
}

// useImage makes a container run our image, be probed without a delay, and report
// why it terminated in its status.
func useImage(c *corev1.Container, image string) {
	c.Image, c.ImagePullPolicy = image, corev1.PullNever
	c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	if c.ReadinessProbe != nil {
		c.ReadinessProbe.InitialDelaySeconds, c.ReadinessProbe.PeriodSeconds = 0, probePeriod
	}
}

// relayImage has the relay and nothing else.
func relayImage(staged string) (Image, error) {
	program := filepath.Join(staged, "relay")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	relay, err := programLayer("relay", program)
	if err != nil {
		return Image{}, err
	}
	return blueprint{
		name:    "relay",
		machine: machine,
		config:  v1.Config{Entrypoint: []string{"/relay"}, User: nobody},
		layers:  []filetree.Tree{relay},
	}.build()
}

// nodeVariable has the node's address in the sidecar.
const nodeVariable = "NODE"

// forgeSidecar makes the forge listen on the pod's loopback. As an init
// container that stays it is there before the others, and keeps no pod from
// ending.
func forgeSidecar(image string, port int) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{
		Name:            "forge",
		Image:           image,
		ImagePullPolicy: corev1.PullNever,
		RestartPolicy:   &always,
		Args: []string{
			"forward",
			fmt.Sprintf("--listen=127.0.0.1:%d", port),
			// the brackets are for a node whose address is of IPv6, and harm no other
			fmt.Sprintf("--to=[$(%s)]:%d", nodeVariable, port),
		},
		Env: []corev1.EnvVar{{Name: nodeVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"},
		}}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("8Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restricted(),
	}
}

// restricted is what Kubernetes' pod security standard "restricted" requires.
func restricted() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		RunAsNonRoot:             &yes,
		ReadOnlyRootFilesystem:   &yes,
		AllowPrivilegeEscalation: &no,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

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
	o, err := c.Get(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.kind}, namespace, w.name)
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
	if why := podProblem(pods); why != "" {
		state = why
	}
	return errors.New(state)
}

// progress describes what a workload waits for, "" when it is ready.
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
		return "not observed by its controller yet", nil
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
	list, err := c.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, o.GetNamespace(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})})
	if err != nil {
		return nil, err
	}
	pods := make([]corev1.Pod, len(list))
	for i, item := range list {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &pods[i]); err != nil {
			return nil, err
		}
	}
	// what concerns the pods of now comes first
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return pods, nil
}

// podProblem describes what keeps the newest pod from being ready, "" when it is
// only starting.
func podProblem(pods []corev1.Pod) string {
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
		if why := containerProblem(c); why != "" {
			return fmt.Sprintf("pod %s: container %s: %s", p.Name, c.Name, why)
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
	}
	return ""
}

func containerProblem(c corev1.ContainerStatus) string {
	var parts []string
	if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
		parts = append(parts, strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
	}
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		parts = append(parts, describeTermination(t))
	}
	// a container that runs again may yet become ready; why it ended is known
	if t := c.LastTerminationState.Terminated; t != nil && !c.Ready {
		parts = append(parts, fmt.Sprintf("ended %d times, last: %s", c.RestartCount, describeTermination(t)))
	}
	return strings.Join(parts, "; ")
}

// messageMax is how much of a container's termination message is reported.
const messageMax = 400

func describeTermination(t *corev1.ContainerStateTerminated) string {
	message := strings.TrimSpace(t.Message)
	if len(message) > messageMax {
		message = "..." + message[len(message)-messageMax:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%s with exit code %d: %s", t.Reason, t.ExitCode, message), ": ")
}
