package incluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestProgress(t *testing.T) {
	for name, c := range map[string]struct{ object, want string }{
		"ready":               {"metadata: {generation: 2}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1}", ""},
		"new":                 {"metadata: {generation: 1}", "not observed"},
		"changed just now":    {"metadata: {generation: 3}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1}", "not observed"},
		"starting":            {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}", "0 of 1"},
		"old one is ready":    {"metadata: {generation: 2}\nstatus: {observedGeneration: 2, replicas: 1, readyReplicas: 1}", "0 of 1"},
		"old one is there":    {"metadata: {generation: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, readyReplicas: 1}", "of before"},
		"two wanted":          {"metadata: {generation: 1}\nspec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 1}", "1 of 2"},
		"none can be made":    {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: exceeded quota}]}", "FailedCreate: exceeded quota"},
		"was made in the end": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, conditions: [{type: ReplicaFailure, status: 'False', reason: x}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(c.object), &o.Object); err != nil {
				t.Fatal(err)
			}
			got, err := progress(o)
			if err != nil || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q, error %v", got, c.want, err)
			}
		})
	}
}

func TestTroubles(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		want   []string
	}{
		"starting": {"containerStatuses: [{name: manager, state: {waiting: {reason: ContainerCreating}}}]", nil},
		"running":  {"containerStatuses: [{name: manager, state: {running: {}}}]", nil},
		"no image": {
			"containerStatuses: [{name: manager, state: {waiting: {reason: ErrImageNeverPull, message: image is not present}}}]",
			[]string{"pod p: container manager: ErrImageNeverPull: image is not present"},
		},
		"crash": {
			"containerStatuses: [{name: manager, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {reason: Error, exitCode: 1, message: 'no such flag'}}}]",
			[]string{"CrashLoopBackOff", "ended 3 times, last: Error with exit code 1: no such flag"},
		},
		"runs again":    {"containerStatuses: [{name: manager, restartCount: 1, state: {running: {}}, lastState: {terminated: {reason: OOMKilled, exitCode: 137}}}]", []string{"OOMKilled with exit code 137"}},
		"is well again": {"containerStatuses: [{name: manager, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {reason: Error, exitCode: 137}}}]", nil},
		"sidecar":       {"initContainerStatuses: [{name: forge, state: {waiting: {reason: ErrImageNeverPull}}}]\ncontainerStatuses: [{name: manager, state: {waiting: {reason: PodInitializing}}}]", []string{"container forge: ErrImageNeverPull"}},
		"no room":       {"conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/1 nodes: Insufficient memory'}]", []string{"no node", "Insufficient memory"}},
		"evicted":       {"phase: Failed\nreason: Evicted\nmessage: low on memory", []string{"Evicted: low on memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := corev1.Pod{}
			p.Name = "p"
			if err := yaml.Unmarshal([]byte(c.status), &p.Status); err != nil {
				t.Fatal(err)
			}
			got := podProblem([]corev1.Pod{p})
			if len(c.want) == 0 && got != "" {
				t.Errorf("%q", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q, want %q in it", got, want)
				}
			}
		})
	}
	if got := podProblem(nil); got != "" {
		t.Errorf("no pods: %q", got)
	}
}

func TestOnlyTheEndOfAContainersLogIsReported(t *testing.T) {
	got := describeTermination(&corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2, Message: strings.Repeat("x", 5000) + "the reason\n"})
	if len(got) > 500 || !strings.HasSuffix(got, "the reason") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
