package plan

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What follows is for those who explain a plan: the single decisions that New
// makes of many, so that an explanation cannot differ from the plan.

// The label keys that name a pair's parts instead of describing them.
const (
	ClusterTypeLabel      = clusterTypeLabel
	DeploymentTargetLabel = deploymentTargetLabel
	WorkloadLabel         = workloadLabel
	WorkspaceLabel        = workspaceLabel
)

// Selects says whether a policy's label selector selects an object with these
// labels. One that cannot be read selects nothing.
func Selects(s metav1.LabelSelector, labels map[string]string) bool {
	selects, ok := selector(s)
	return ok && selects(labels)
}

// Fits says whether one label of a ConfigMap or ConfigSchema fits a pair. The
// object counts for the pair when all its labels fit, except for those that
// [IgnoredLabel] names.
func Fits(c model.ClusterType, t Target, key, value string) bool {
	return pair{clusterType: &c, target: &target{Target: t}}.subject().match(key, value)
}

// IgnoredLabel says whether a label of a ConfigMap or ConfigSchema does not
// count when the object is matched with a pair.
func IgnoredLabel(key string) bool {
	return key == configLabel || foreignLabel(key)
}

// IsStructured says whether a configuration value is a map or a list, which is
// merged with others rather than replaced.
func IsStructured(value string) bool {
	return isStructured(parseValue(value))
}

// IsAppConfig says whether the keys of a ConfigMap carry labels of their own.
// Such ConfigMaps are merged after all others.
func IsAppConfig(config model.PlatformConfig) bool {
	return strings.HasPrefix(config.Name, model.AppConfigPrefix)
}

// IsOrdinary says whether the keys of a ConfigMap apply as they are. Those of
// one that [IsAppConfig] names may do so, too.
func IsOrdinary(config model.PlatformConfig) bool {
	return !IsAppConfig(config) || config.Labels[configLabel] == "true"
}

// AppConfigKey takes a key of the form label.value.label.value.key apart. It
// returns false when the key is of another form, and then gives no value.
// Every label of it must fit, even those that [IgnoredLabel] names. Of a label
// that it has twice the last value counts.
func AppConfigKey(field string) (labels [][2]string, key string, ok bool) {
	words, key, ok := model.SplitAppConfigKey(field)
	for i := 0; i+1 < len(words); i += 2 {
		labels = slices.DeleteFunc(labels, func(l [2]string) bool { return l[0] == words[i] })
		labels = append(labels, [2]string{words[i], words[i+1]})
	}
	return labels, key, ok
}
