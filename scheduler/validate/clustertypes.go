package validate

import (
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// clusterTypes reports cluster types that no policy selects.
func (e *examination) clusterTypes() {
	for _, c := range e.Model.ClusterTypes {
		selected := slices.ContainsFunc(e.Model.Policies, func(p model.SchedulingPolicy) bool {
			return plan.Selects(p.Spec.ClusterTypeSelector.LabelSelector, c.Labels)
		})
		if !selected {
			e.report(Finding{
				Rule: UnselectedClusterType, Severity: Note, Position: c.At("metadata", "name"),
				object: objectOf(v1alpha1.KindClusterType, c), unused: true,
				Message: fmt.Sprintf("no policy selects cluster type %s", c.Name),
				Hint:    "nothing is scheduled there until one does",
			})
		}
	}
}

// use is one of the templates that a cluster type names.
type use struct {
	field    string
	template string
	wanted   v1alpha1.TemplateType
	file     string // that it makes, without extension
}

func usesOf(c model.ClusterType) []use {
	configType := c.Spec.ConfigType
	if configType == "" {
		configType = v1alpha1.DefaultConfigType
	}
	return []use{
		{"namespaceService", c.Spec.NamespaceService, v1alpha1.NamespaceTemplate, "namespace"},
		{"configType", configType, v1alpha1.ConfigTemplate, "platform-config"},
		{"reconciler", c.Spec.Reconciler, v1alpha1.ReconcilerTemplate, "reconciler"},
	}
}

// template returns the template of that name, or false.
func (e *examination) template(name string) (model.Template, bool) {
	for _, t := range e.Model.Templates {
		if t.Name == name {
			return t, true
		}
	}
	return model.Template{}, false
}
