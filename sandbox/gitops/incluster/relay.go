package incluster

import (
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// relayImage has the relay and nothing else.
func relayImage(staged string) (Image, error) {
	program := filepath.Join(staged, "relay")
	machine, err := linuxProgram(program)
	if err != nil {
		return Image{}, err
	}
	return blueprint{
		name:    "relay",
		machine: machine,
		config:  v1.Config{Entrypoint: []string{"/relay"}, User: nobody},
		layers:  []*layer{newLayer(entry{path: "relay", from: program, program: true})},
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

// restricted is what the strictest of Kubernetes' pod security standards asks
// for.
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
