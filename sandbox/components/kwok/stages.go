package main

import (
	_ "embed"
	"fmt"

	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
)

// The node's stages are ours: kwok's own leave a node alone that is already
// Ready, as it is for a while after a real one has ended, and say nothing of
// simulation.
var (
	//go:embed node-start.yaml
	nodeStart string
	//go:embed node-heartbeat.yaml
	nodeHeartbeat string
)

type stages = map[internalversion.StageResourceRef][]*internalversion.Stage

// stagesOf are the stages of the node and of its pods: pods run at once, those
// of Jobs succeed at once, and deleted ones are gone at once.
func stagesOf(node string) (stages, error) {
	all := stages{}
	for _, text := range []string{nodeStart, nodeHeartbeat, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete} {
		public := &v1alpha1.Stage{}
		if err := yaml.Unmarshal([]byte(text), public); err != nil {
			return nil, err
		}
		v1alpha1.SetObjectDefaults_Stage(public)
		s, err := internalversion.ConvertToInternalStage(public)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", public.Name, err)
		}
		if text == podfast.DefaultPodReady {
			s.Spec.Steps = append(s.Spec.Steps, internalversion.StageStep{Event: &internalversion.StageEvent{
				Type: "Normal", Reason: "Simulated",
				Message: fmt.Sprintf("node %s is simulated: the pod is said to run, and nothing of it does", node),
			}})
		}
		all[s.Spec.ResourceRef] = append(all[s.Spec.ResourceRef], s)
	}
	return all, nil
}
