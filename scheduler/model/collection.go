package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// collection holds the objects of all kinds in order of reading.
type collection struct {
	findings findings

	environments  []EnvironmentObject
	bases         []BaseRepo
	gitOps        []GitOpsRepo
	clusterTypes  []ClusterType
	policies      []SchedulingPolicy
	configs       []PlatformConfig
	configSchemas []ConfigSchema
	templates     []Template
	registrations []WorkloadRegistration
}

// add decodes a document and keeps it, if at least its name and labels can be
// read.
func (c *collection) add(doc document) {
	f := &c.findings
	switch doc.kind {
	case v1alpha1.KindEnvironment:
		keep(doc, f, &c.environments)
	case v1alpha1.KindBaseRepo:
		keep(doc, f, &c.bases)
	case v1alpha1.KindGitOpsRepo:
		keep(doc, f, &c.gitOps)
	case v1alpha1.KindClusterType:
		keep(doc, f, &c.clusterTypes)
	case v1alpha1.KindSchedulingPolicy:
		keep(doc, f, &c.policies, checkSelectors)
	case kindConfigMap:
		keep(doc, f, &c.configs, checkAppConfig)
	case v1alpha1.KindConfigSchema:
		keep(doc, f, &c.configSchemas)
	case v1alpha1.KindTemplate:
		keep(doc, f, &c.templates, checkTemplate)
	case v1alpha1.KindWorkloadRegistration:
		keep(doc, f, &c.registrations)
	case v1alpha1.KindWorkload:
		if _, ok := read[v1alpha1.WorkloadSpec](doc, &findings{}); !ok || !yamlpos.IsNull(yamlpos.Value(doc.node, "spec", "workload")) {
			f.add(v1alpha1.KindWorkloadRegistration, Diagnostic{
				Severity: Error,
				Position: positionAt(doc.node, doc.position, []string{"kind"}),
				Message:  "this is no Workload",
				Hint:     "did you mean WorkloadRegistration?",
			})
			return
		}
		f.add(doc.kind, Diagnostic{
			Severity: Warning,
			Position: doc.position,
			Message:  "a Workload is read only from the folder that a WorkloadRegistration names",
			Hint:     "move it to the application's repository and register it",
		})
	}
}

// keep appends a document's object to list. One with errors stays without its
// spec, unless they are in its name or labels: [unique] decides whether that is
// of use. A ConfigMap or ConfigSchema of that kind is not lost, because its
// labels tell whom it concerns; where they cannot be read it may concern all.
func keep[Spec any](doc document, f *findings, list *[]Object[Spec], checks ...func(Object[Spec]) []Diagnostic) {
	o := recall(doc, func() (o outcome[Spec]) {
		o.object, o.usable = read[Spec](doc, &o.findings)
		for _, check := range checks {
			if !o.usable {
				break
			}
			for _, d := range check(o.object) {
				o.findings.add(doc.kind, d)
				o.usable = o.usable && d.Severity != Error
			}
		}
		if !o.usable && readable(doc) {
			var unknown Spec
			o.object.Spec, o.usable = unknown, true
			o.object.Unreadable = errorsOf(o.findings.diagnostics)
			o.findings.configIncomplete, o.findings.schemasIncomplete = false, false
		}
		return o
	})
	o.keep(f, list)
}

func errorsOf(diagnostics []Diagnostic) []Diagnostic {
	var errors []Diagnostic
	for _, d := range diagnostics {
		if d.Severity == Error {
			errors = append(errors, d)
		}
	}
	return errors
}

// checkSelectors finds what makes a policy's selectors unusable.
func checkSelectors(policy SchedulingPolicy) []Diagnostic {
	var found []Diagnostic
	check := func(field string, selector metav1.LabelSelector) {
		if _, err := metav1.LabelSelectorAsSelector(&selector); err != nil {
			d := Diagnostic{
				Severity: Error,
				Position: policy.At("spec", field, "labelSelector"),
				Message:  fmt.Sprintf("SchedulingPolicy %s: %s: %s", policy.Name, field, err),
			}
			if strings.Contains(err.Error(), "label selector operator") {
				d.Hint = "operators are In, NotIn, Exists and DoesNotExist"
			}
			found = append(found, d)
		}
	}
	check("deploymentTargetSelector", policy.Spec.DeploymentTargetSelector.LabelSelector)
	check("clusterTypeSelector", policy.Spec.ClusterTypeSelector.LabelSelector)
	return found
}

// checkTemplate finds values that are none of those a Template may have.
func checkTemplate(template Template) []Diagnostic {
	var found []Diagnostic
	check := func(field, value string, allowed ...string) {
		if slices.Contains(allowed, value) {
			return
		}
		d := Diagnostic{
			Severity: Error,
			Position: template.At("spec", field),
			Message:  fmt.Sprintf("Template %s: %s %q is not known", template.Name, field, value),
			Hint:     fmt.Sprintf("use one of %v", allowed),
		}
		if near := Nearest(value, allowed); near != "" {
			d.Hint = fmt.Sprintf("did you mean %s?", near)
		}
		found = append(found, d)
	}
	check("type", string(template.Spec.Type),
		string(v1alpha1.ReconcilerTemplate), string(v1alpha1.NamespaceTemplate), string(v1alpha1.ConfigTemplate))
	if template.Spec.ContentType != "" {
		check("contentType", string(template.Spec.ContentType),
			string(v1alpha1.YAMLContent), string(v1alpha1.ShellContent))
	}
	return found
}

// sorted orders objects by name.
func sorted[T named](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(a.name(), b.name()) })
	return objects
}
