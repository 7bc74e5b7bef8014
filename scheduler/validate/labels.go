package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

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
		Hint:    short(hint),
	})
}

// short takes the examples and the regular expression off a message of
// Kubernetes.
func short(message string) string {
	message, _, _ = strings.Cut(message, " (e.g.")
	return message
}
