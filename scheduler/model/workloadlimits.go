package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A Workload is written by an application's team, and planning takes time and
// memory by its parts and not by its bytes: every target is asked by every
// policy and may be assigned to every cluster type, and an anchor makes very
// many of one. These limits are far beyond what workloads have. One workload
// beyond them is left out and stops no other.
const (
	maxTargets       = 1000
	maxLabels        = 64        // of a workload or of a target
	maxManifests     = 64        // fields of a target's manifests
	maxManifestText  = 64 << 10  // bytes of a target's manifests
	maxSchemaTexts   = 256 << 10 // bytes of all schemas of a workload, each text once
	maxSchemas       = 100       // of a workload, each text once
	maxSchemaChecks  = 1000      // schemas of all targets, those of the workload for each
	maxLabelKey      = validation.DNS1123SubdomainMaxLength + 1 + 63
	maxLabelValue    = validation.LabelValueMaxLength
	maxEnvironmentOf = validation.DNS1123SubdomainMaxLength
)

// workloadLimits looks at the extent of a workload.
type workloadLimits struct {
	workload Object[v1alpha1.WorkloadSpec]
	found    []Diagnostic
}

func (l *workloadLimits) report(hint string, path []string, format string, args ...any) {
	l.found = append(l.found, Diagnostic{
		Severity: Error,
		Position: l.workload.At(path...),
		Message:  fmt.Sprintf("Workload %s is too large: %s", l.workload.Name, fmt.Sprintf(format, args...)),
		Hint:     hint,
	})
}

// checkLimits finds where a workload is larger than any may be.
func checkLimits(workload Object[v1alpha1.WorkloadSpec]) []Diagnostic {
	l := &workloadLimits{workload: workload}
	targets := workload.Spec.DeploymentTargets
	if n := len(targets); n > maxTargets {
		l.report("divide the workload", []string{"spec", "deploymentTargets"}, "there are %d deployment targets, %d are the limit", n, maxTargets)
		return l.found // one is enough
	}
	l.labels(workload.Labels, "metadata", "labels")
	for i, t := range targets {
		path := []string{"spec", "deploymentTargets", strconv.Itoa(i)}
		if len(t.Environment) > maxEnvironmentOf {
			l.report("correct it", append(path, "environment"), "the name of an environment has %d characters, %d are the limit", len(t.Environment), maxEnvironmentOf)
		}
		l.labels(t.Labels, append(path, "labels")...)
		l.manifests(t.Manifests, append(path, "manifests")...)
	}
	l.schemas()
	return l.found
}

func (l *workloadLimits) labels(labels map[string]string, path ...string) {
	if n := len(labels); n > maxLabels {
		l.report("keep those that policies select by", path, "there are %d labels, %d are the limit", n, maxLabels)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := append(slices.Clone(path), key)
		if n := len(key); n > maxLabelKey {
			l.report("shorten it", path, "the key of a label has %d characters, %d are the limit", n, maxLabelKey)
		}
		if n := len(labels[key]); n > maxLabelValue {
			l.report("shorten it", at, "the value of a label has %d characters, %d are the limit", n, maxLabelValue)
		}
	}
}

func (l *workloadLimits) manifests(manifests map[string]string, path ...string) {
	if n := len(manifests); n > maxManifests {
		l.report("keep what the platform's templates use", path, "manifests has %d fields, %d are the limit", n, maxManifests)
		return
	}
	size := 0
	for key, value := range manifests {
		size += len(key) + len(value)
	}
	if size > maxManifestText {
		l.report("keep what says where the manifests are", path, "manifests has %d bytes, %d are the limit", size, maxManifestText)
	}
}

// schemas looks at what a workload's schemas are altogether. What one of them
// may be is the plan's to say.
func (l *workloadLimits) schemas() {
	targets := l.workload.Spec.DeploymentTargets
	texts, size, checks := map[string]bool{}, 0, 0
	add := func(schemas []string, path []string) bool {
		for i, text := range schemas {
			if texts[text] {
				continue
			}
			texts[text] = true
			size += len(text)
			at := append(slices.Clone(path), strconv.Itoa(i))
			switch {
			case size > maxSchemaTexts:
				l.report("keep what the platform must provide", at, "its schemas have more than %d bytes, which is the limit", maxSchemaTexts)
				return false
			case len(texts) > maxSchemas:
				l.report("put what they have in common into one", at, "it has more than %d schemas, which is the limit", maxSchemas)
				return false
			}
		}
		return true
	}
	if !add(l.workload.Spec.ConfigSchemas, []string{"spec", "configSchemas"}) {
		return
	}
	for i, t := range targets {
		path := []string{"spec", "deploymentTargets", strconv.Itoa(i), "configSchemas"}
		if checks += len(t.ConfigSchemas) + len(l.workload.Spec.ConfigSchemas); checks > maxSchemaChecks {
			l.report("put several schemas into one", path, "its targets have more than %d schemas altogether, which is the limit", maxSchemaChecks)
			return
		}
		if !add(t.ConfigSchemas, path) {
			return
		}
	}
}
