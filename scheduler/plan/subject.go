package plan

import "strings"

// The label keys of configuration objects that name instead of describe.
const (
	configLabel           = "platform-config"
	clusterTypeLabel      = "cluster-type"
	deploymentTargetLabel = "deployment-target"
)

// isNameLabel says whether a label's value is the name of the pair's cluster
// type, deployment target or workload.
func isNameLabel(key string) bool {
	return key == clusterTypeLabel || key == deploymentTargetLabel || key == workloadLabel
}

// subject is the pair that labels of configuration objects are matched with.
type subject struct {
	clusterType       string
	clusterTypeLabels map[string]string
	target            string
	workload          string
	targetLabels      map[string]string
}

func (p pair) subject() subject {
	return subject{
		clusterType:       p.clusterType.Name,
		clusterTypeLabels: p.clusterType.Labels,
		target:            p.target.Name,
		workload:          p.target.Workload,
		targetLabels:      p.target.Labels,
	}
}

// matches says whether all labels fit. No labels fit everything.
func (s subject) matches(labels map[string]string) bool {
	for key, value := range labels {
		if key != configLabel && !foreignLabel(key) && !s.match(key, value) {
			return false
		}
	}
	return true
}

func (s subject) match(key, value string) bool {
	switch key {
	case clusterTypeLabel:
		return value == s.clusterType
	case deploymentTargetLabel:
		return value == s.target
	case workloadLabel:
		return value == s.workload
	}
	// A label that is not there counts as one with an empty value.
	return value == s.clusterTypeLabels[key] || value == s.targetLabels[key]
}

// foreignLabel says whether a label belongs to Kubernetes or Flux, whose
// controllers and tools put theirs on any object.
func foreignLabel(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	for _, domain := range []string{"kubernetes.io", "k8s.io", "fluxcd.io"} {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return true
		}
	}
	return false
}
