// Package v1alpha1 holds the kinds of the platform model: what a platform team
// and an application team write into their repositories, and nothing that is
// computed from it.
//
// The kinds are those of Kalypso Scheduler's API group, field for field, so
// that repositories written for it work unchanged. The types carry json tags
// for the names; package model reads them from YAML and knows their positions.
package v1alpha1

// Group is the API group of all kinds in this package.
const Group = "scheduler.kalypso.io"

// Version is the only version of the group.
const Version = "v1alpha1"

// APIVersion is what a document of this package has in its apiVersion field.
const APIVersion = Group + "/" + Version

// The kinds, as a document's kind field spells them.
const (
	KindEnvironment          = "Environment"
	KindBaseRepo             = "BaseRepo"
	KindGitOpsRepo           = "GitOpsRepo"
	KindClusterType          = "ClusterType"
	KindSchedulingPolicy     = "SchedulingPolicy"
	KindConfigSchema         = "ConfigSchema"
	KindTemplate             = "Template"
	KindWorkloadRegistration = "WorkloadRegistration"
	KindWorkload             = "Workload"
)

// Kinds lists every kind of the group, sorted.
func Kinds() []string {
	return []string{
		KindBaseRepo,
		KindClusterType,
		KindConfigSchema,
		KindEnvironment,
		KindGitOpsRepo,
		KindSchedulingPolicy,
		KindTemplate,
		KindWorkload,
		KindWorkloadRegistration,
	}
}
