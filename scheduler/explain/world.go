package explain

import (
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// world is what an explanation is made from.
type world struct {
	env     *model.Environment
	plan    *plan.Plan
	targets []*target // as the plan has them
	// What all objects of the environment say of themselves.
	ofTargets, ofClusterTypes *vocabulary
}

// target is a deployment target with the workload that defines it.
type target struct {
	plan.Target
	workload model.Workload
	index    int // in the workload's deploymentTargets
	twins    []*target
}

func newWorld(env *model.Environment, p *plan.Plan) *world {
	w := &world{env: env, plan: p}
	workloads := map[string]model.Workload{}
	for _, workload := range env.Workloads {
		workloads[workload.Name] = workload
	}
	byName := map[string][]*target{}
	for _, planned := range p.Targets {
		t := &target{Target: planned, workload: workloads[planned.Workload]}
		for i, spec := range t.workload.Spec.DeploymentTargets {
			if spec.Environment == env.Name && t.Workload+"-"+spec.Name == t.Name {
				t.index = i
			}
		}
		w.targets = append(w.targets, t)
		byName[t.Name] = append(byName[t.Name], t)
	}
	var targetSides, clusterTypeSides []side
	for _, t := range w.targets {
		for _, other := range byName[t.Name] {
			if other != t {
				t.twins = append(t.twins, other)
			}
		}
		targetSides = append(targetSides, targetSide(t))
	}
	for _, c := range env.ClusterTypes {
		clusterTypeSides = append(clusterTypeSides, clusterTypeSide(c))
	}
	w.ofTargets, w.ofClusterTypes = vocabularyOf(targetSides), vocabularyOf(clusterTypeSides)
	return w
}

// ofConfigs holds what labels of ConfigMaps and ConfigSchemas can ask for.
func (w *world) ofConfigs() *vocabulary {
	var sides []side
	for _, t := range w.targets {
		sides = append(sides, configSides(model.ClusterType{}, t)[1])
	}
	for _, c := range w.env.ClusterTypes {
		sides = append(sides, configSides(c, &target{})[0])
	}
	return vocabularyOf(sides)
}

// shortName is the target's name in its workload.
func (t *target) shortName() string {
	return t.Name[min(len(t.Workload)+1, len(t.Name)):]
}

// field returns where a field of the target stands in its workload.
func (t *target) field(path ...string) model.Position {
	return t.workload.At(append([]string{"spec", "deploymentTargets", strconv.Itoa(t.index)}, path...)...)
}

// labelAt returns where a label of the target comes from, or where one would
// be added. A workload's labels win over those of its targets, and those of
// the platform over both.
func (t *target) labelAt(key string) model.Position {
	switch key {
	case plan.WorkloadLabel:
		return t.workload.At("metadata", "name")
	case plan.WorkspaceLabel:
		return t.workload.Registration.At("spec", "workspace")
	}
	if _, ok := t.workload.Labels[key]; ok {
		return t.workload.At("metadata", "labels", key)
	}
	return t.field("labels", key)
}
