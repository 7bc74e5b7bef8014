package model

import (
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// Object is one document of the platform model.
type Object[Spec any] struct {
	v1alpha1.Metadata
	Spec     Spec
	Position Position // of the document's first field

	// Unreadable are the errors because of which only name and labels are
	// known, and Spec is empty.
	Unreadable []Diagnostic

	node *yaml.Node
}

// ConfigMap is the part of a Kubernetes ConfigMap that the platform model
// uses.
type ConfigMap struct {
	Data map[string]string `json:"data,omitempty"`
}

// The objects of the platform model.
type (
	EnvironmentObject    = Object[v1alpha1.EnvironmentSpec]
	BaseRepo             = Object[v1alpha1.BaseRepoSpec]
	GitOpsRepo           = Object[v1alpha1.GitOpsRepoSpec]
	ClusterType          = Object[v1alpha1.ClusterTypeSpec]
	SchedulingPolicy     = Object[v1alpha1.SchedulingPolicySpec]
	ConfigSchema         = Object[v1alpha1.ConfigSchemaSpec]
	Template             = Object[v1alpha1.TemplateSpec]
	WorkloadRegistration = Object[v1alpha1.WorkloadRegistrationSpec]
	PlatformConfig       = Object[ConfigMap]
)

// Workload is a workload with the registration that admits it.
type Workload struct {
	Object[v1alpha1.WorkloadSpec]
	Registration WorkloadRegistration
}

// At returns where a field of the document stands: its key's position in a
// mapping, the element's in a list (numbered from 0). Where the path leads
// nowhere it is the position of the last field on the way that exists.
func (o Object[Spec]) At(path ...string) Position {
	return positionAt(o.node, o.Position, path)
}

// Same says whether two objects are the same reading of a document, so that
// nothing can differ between them. Documents that say the same in two places,
// or in a file that was parsed twice, are not.
func (o Object[Spec]) Same(other Object[Spec]) bool {
	return o.node != nil && o.node == other.node && o.Position == other.Position
}

func positionAt(node *yaml.Node, position Position, path []string) Position {
	if key, _ := yamlpos.Closest(node, path...); key != nil {
		position.Line, position.Column = key.Line, key.Column
	}
	return position
}
