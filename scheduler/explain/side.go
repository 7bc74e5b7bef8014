package explain

import (
	"maps"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// side is an object whose labels clauses are held against.
type side struct {
	word   string // what people call it
	labels map[string]string
	// at is where a label stands or, when it is not there, where one would be
	// added.
	at func(key string) model.Position
	// names are the keys that stand for what the object is rather than has.
	names map[string]bool
}

func clusterTypeSide(c model.ClusterType) side {
	return side{
		word:   "cluster type",
		labels: c.Labels,
		at:     func(key string) model.Position { return c.At("metadata", "labels", key) },
	}
}

func targetSide(t *target) side {
	return side{word: "target", labels: t.Labels, at: t.labelAt}
}

// configSides are what the labels of ConfigMaps and ConfigSchemas are held
// against. There, some keys mean names, whatever labels of these keys the
// objects have.
func configSides(c model.ClusterType, t *target) []side {
	first, second := clusterTypeSide(c), targetSide(t)
	first.labels, second.labels = described(c.Labels), described(t.Labels)
	first.labels[plan.ClusterTypeLabel] = c.Name
	second.labels[plan.DeploymentTargetLabel] = t.Name
	second.labels[plan.WorkloadLabel] = t.Workload
	first.names = map[string]bool{plan.ClusterTypeLabel: true}
	second.names = map[string]bool{plan.DeploymentTargetLabel: true}
	first.at = func(key string) model.Position {
		if key == plan.ClusterTypeLabel {
			return c.At("metadata", "name")
		}
		return c.At("metadata", "labels", key)
	}
	second.at = func(key string) model.Position {
		if key == plan.DeploymentTargetLabel {
			return t.Position
		}
		return t.labelAt(key)
	}
	return []side{first, second}
}

// described returns the labels whose keys are not those of names.
func described(labels map[string]string) map[string]string {
	rest := make(map[string]string, len(labels)+2)
	maps.Copy(rest, labels)
	for _, key := range []string{plan.ClusterTypeLabel, plan.DeploymentTargetLabel, plan.WorkloadLabel} {
		delete(rest, key)
	}
	return rest
}
