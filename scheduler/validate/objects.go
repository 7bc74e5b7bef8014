package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// object identifies an object of the model: by where it is and what it is
// called, not by its line, which differs between commits.
type object struct {
	kind, name         string
	repo, branch, file string

	labelled *labelled
}

// labelled is what rules about any object need of it.
type labelled struct {
	labels map[string]string
	at     func(path ...string) model.Position
}

// id is the object without what cannot be compared.
func (o object) id() object {
	o.labelled = nil
	return o
}

func objectOf[Spec any](kind string, o model.Object[Spec]) object {
	return object{
		kind: kind, name: o.Name,
		repo: o.Position.Repo, branch: o.Position.Branch, file: o.Position.File,
		labelled: &labelled{labels: o.Labels, at: o.At},
	}
}

// kindConfigMap is the kind of objects with platform configuration.
const kindConfigMap = "ConfigMap"

func objectsOf(env *model.Environment) []object {
	var all []object
	all = appendObjects(all, v1alpha1.KindClusterType, env.ClusterTypes)
	all = appendObjects(all, v1alpha1.KindSchedulingPolicy, env.Policies)
	all = appendObjects(all, kindConfigMap, env.Configs)
	all = appendObjects(all, v1alpha1.KindConfigSchema, env.ConfigSchemas)
	all = appendObjects(all, v1alpha1.KindTemplate, env.Templates)
	all = appendObjects(all, v1alpha1.KindWorkloadRegistration, env.Registrations)
	all = appendObjects(all, v1alpha1.KindRollout, env.Rollouts)
	for _, w := range env.Workloads {
		all = append(all, objectOf(v1alpha1.KindWorkload, w.Object))
	}
	return all
}

func appendObjects[Spec any](all []object, kind string, objects []model.Object[Spec]) []object {
	for _, o := range objects {
		all = append(all, objectOf(kind, o))
	}
	return all
}

// labels reports labels that Kubernetes refuses. The scheduler takes them, but
// a cluster that the branch is applied to as it is takes none of it.
func (e *examination) labels() {
	for _, o := range e.objects {
		e.checkLabels(o, o.labelled.labels, "metadata", "labels")
	}
	for _, w := range e.Model.Workloads {
		for i, t := range w.Spec.DeploymentTargets {
			e.checkLabels(objectOf(v1alpha1.KindWorkload, w.Object), t.Labels, "spec", "deploymentTargets", strconv.Itoa(i), "labels")
		}
	}
}

func (e *examination) checkLabels(o object, labels map[string]string, path ...string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := o.labelled.at(append(slices.Clone(path), key)...)
		if messages := validation.IsQualifiedName(key); len(messages) > 0 {
			e.invalidLabel(o, at, fmt.Sprintf("key %q", key), messages[0])
		}
		if messages := validation.IsValidLabelValue(labels[key]); len(messages) > 0 {
			e.invalidLabel(o, at, fmt.Sprintf("value %q of %s", labels[key], key), messages[0])
		}
	}
}

func (e *examination) invalidLabel(o object, at model.Position, what, hint string) {
	e.report(Finding{
		Rule: InvalidLabel, Severity: Warning, Position: at, object: o,
		Message: fmt.Sprintf("%s %s: Kubernetes takes no label with %s", o.kind, o.name, what),
		Hint:    model.Requirement(hint),
	})
}
