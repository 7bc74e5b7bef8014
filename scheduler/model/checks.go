package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func checkSelectors(policy SchedulingPolicy) []Diagnostic {
	var found []Diagnostic
	check := func(field string, selector metav1.LabelSelector) {
		if _, err := metav1.LabelSelectorAsSelector(&selector); err != nil {
			d := errorAt(InvalidSelector, policy.At("spec", field, "labelSelector"), "", "SchedulingPolicy %s: %s: %s", policy.Name, field, err)
			if strings.Contains(err.Error(), "label selector operator") {
				d.Hint = "operators are In, NotIn, Exists and DoesNotExist"
			}
			found = append(found, d)
		}
	}
	check("deploymentTargetSelector", policy.Spec.DeploymentTargetSelector.LabelSelector)
	check("clusterTypeSelector", policy.Spec.ClusterTypeSelector.LabelSelector)
	found = append(found, checkExpression(policy, expression.OfTargets, policy.Spec.DeploymentTargetSelector.CEL)...)
	return append(found, checkExpression(policy, expression.OfClusterTypes, policy.Spec.ClusterTypeSelector.CEL)...)
}

// checkExpression compiles a selector's expression. An empty one is a mistake: without
// its condition the selector would select more.
func checkExpression(policy SchedulingPolicy, selector expression.Selector, text string) []Diagnostic {
	path := []string{"spec", string(selector), "cel"}
	if text == "" && yamlpos.Value(policy.node, path...) == nil {
		return nil
	}
	_, err := expression.Compile(selector, text)
	wrong, ok := errors.AsType[*expression.Error](err)
	if !ok {
		return nil
	}
	code := InvalidExpression
	if wrong.Costly {
		code = CostlyExpression
	}
	hint := wrong.Hint
	if wrong.Unknown != "" {
		hint = Suggest(wrong.Unknown, wrong.Variables, "known are "+strings.Join(wrong.Variables, ", "))
	}
	return []Diagnostic{errorAt(code, policy.InText(wrong.Index, path...), hint, "SchedulingPolicy %s: the expression of its %s: %s", policy.Name, selector, wrong.Message)}
}

func checkTemplate(template Template) []Diagnostic {
	var found []Diagnostic
	check := func(field, value string, allowed ...string) {
		if slices.Contains(allowed, value) {
			return
		}
		found = append(found, errorAt(InvalidValue, template.At("spec", field), Suggest(value, allowed, fmt.Sprintf("use one of %v", allowed)),
			"Template %s: %s %q is not known", template.Name, field, value))
	}
	check("type", string(template.Spec.Type),
		string(v1alpha1.ReconcilerTemplate), string(v1alpha1.NamespaceTemplate), string(v1alpha1.ConfigTemplate))
	if template.Spec.ContentType != "" {
		check("contentType", string(template.Spec.ContentType),
			string(v1alpha1.YAMLContent), string(v1alpha1.ShellContent))
	}
	return found
}

// AppConfigPrefix begins the names of the ConfigMaps that Azure App
// Configuration fills, with no labels of its own. All that belongs to an
// environment lies in one such object, and its keys say where they belong.
const AppConfigPrefix = "azure-app-config"

// SplitAppConfigKey reads a key of such a ConfigMap, label.value.label.value.key:
// its labels, each followed by its value, and the key that the platform's
// configuration gets. It returns false when the text is not of that form.
func SplitAppConfigKey(text string) (labels []string, key string, ok bool) {
	parts := strings.Split(text, ".")
	last := len(parts) - 1
	if last%2 != 0 || parts[last] == "" {
		return nil, "", false
	}
	for i := 0; i < last; i += 2 {
		if parts[i] == "" {
			return nil, "", false
		}
	}
	return parts[:last], parts[last], true
}

// checkAppConfig warns of keys that apply nowhere because of their form. Such a
// key is most likely a misspelled one.
func checkAppConfig(config PlatformConfig) []Diagnostic {
	if !strings.HasPrefix(config.Name, AppConfigPrefix) || config.Labels[platformConfigLabel] == "true" {
		return nil // with the label its keys apply as they are, too
	}
	var found []Diagnostic
	for _, key := range slices.Sorted(maps.Keys(config.Spec.Data)) {
		if _, _, ok := SplitAppConfigKey(key); ok {
			continue
		}
		found = append(found, warningAt(AppConfigKey, config.At("data", key), "write label.value.label.value.key: each label with its value, then the key's own name",
			"ConfigMap %s: key %q applies nowhere", config.Name, key))
	}
	return found
}

// checkTargets finds deployment targets whose names cannot be folders and
// parts of Kubernetes names, and names that stand twice in one environment.
func checkTargets(workload Object[v1alpha1.WorkloadSpec]) []Diagnostic {
	var found []Diagnostic
	type name struct{ environment, target string }
	seen := map[name]bool{}
	for i, target := range workload.Spec.DeploymentTargets {
		at := workload.At("spec", "deploymentTargets", fmt.Sprint(i), "name")
		if messages := validation.IsDNS1123Subdomain(target.Name); len(messages) > 0 {
			found = append(found, errorAt(InvalidName, at, Requirement(messages[0]),
				"Workload %s: deployment target %q is not a name", workload.Name, target.Name))
		}
		key := name{target.Environment, target.Name}
		if seen[key] {
			found = append(found, errorAt(DuplicateObject, at, "rename one of them",
				"Workload %s: deployment target %s stands twice for environment %s", workload.Name, target.Name, target.Environment))
		}
		seen[key] = true
	}
	return found
}

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

type workloadLimits struct {
	workload Object[v1alpha1.WorkloadSpec]
	found    []Diagnostic
}

func (l *workloadLimits) report(hint string, path []string, format string, args ...any) {
	l.found = append(l.found, errorAt(TooLarge, l.workload.At(path...), hint,
		"Workload %s is too large: %s", l.workload.Name, fmt.Sprintf(format, args...)))
}

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
