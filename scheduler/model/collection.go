package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
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
	rollouts      []Rollout
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
	case v1alpha1.KindRollout:
		keep(doc, f, &c.rollouts, checkRollout)
	case v1alpha1.KindWorkload:
		if _, ok := read[v1alpha1.WorkloadSpec](doc, &findings{}); !ok || !yamlpos.IsNull(yamlpos.Value(doc.node, "spec", "workload")) {
			f.add(v1alpha1.KindWorkloadRegistration, errorAt(UnknownKind, positionAt(doc.node, doc.position, []string{"kind"}), "did you mean WorkloadRegistration?",
				"this is no Workload"))
			return
		}
		f.add(doc.kind, warningAt(MisplacedWorkload, doc.position, "move it to the application's repository and register it",
			"a Workload is read only from the folder that a WorkloadRegistration names"))
	}
}

// keep appends a document's object to list, decoding it only the first time.
func keep[Spec any](doc document, f *findings, list *[]Object[Spec], checks ...func(Object[Spec]) []Diagnostic) {
	d, known := (*doc.decoded).(*decoded[Spec])
	if !known {
		d = decode(doc, checks)
		*doc.decoded = d
	}
	f.join(d.findings)
	if !d.usable {
		return
	}
	if len(*list) == cap(*list) {
		*list = slices.Grow(*list, max(8, len(*list))) // append copies a long list more often
	}
	*list = append(*list, d.object)
}

type decoded[Spec any] struct {
	object   Object[Spec]
	usable   bool
	findings findings
}

// decode decodes and checks a document. An object with errors stays without its
// spec, unless they are in its name or labels: [unique] decides whether that is
// of use. A ConfigMap or ConfigSchema of that kind is not lost, because its labels
// say what it concerns; where they cannot be read it may concern everything.
func decode[Spec any](doc document, checks []func(Object[Spec]) []Diagnostic) *decoded[Spec] {
	d := new(decoded[Spec])
	d.object, d.usable = read[Spec](doc, &d.findings)
	for _, check := range checks {
		if !d.usable {
			break
		}
		for _, found := range check(d.object) {
			d.findings.add(doc.kind, found)
			d.usable = d.usable && found.Severity != Error
		}
	}
	if !d.usable && readable(doc) {
		d.object.Spec, d.usable = *new(Spec), true
		d.object.Unreadable = Errors(d.findings.diagnostics)
		d.findings.configIncomplete, d.findings.schemasIncomplete = false, false
	}
	return d
}

func sorted[T named](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(a.name(), b.name()) })
	return objects
}

// named is what collections need of an object.
type named interface {
	name() string
	position() Position
	unreadable() bool
}

func (o Object[Spec]) name() string       { return o.Name }
func (o Object[Spec]) position() Position { return o.Position }
func (o Object[Spec]) unreadable() bool   { return len(o.Unreadable) > 0 }

// unique drops every object whose name an earlier one has, and reports both
// positions. Objects that cannot be read are dropped too, in favour of later ones,
// except for kinds that concern whatever their labels match. What is kept stays in
// the array of objects, of which a fleet has a long one.
func unique[T named](kind string, objects []T, findings *findings) []T {
	labelled := kind == kindConfigMap || kind == v1alpha1.KindConfigSchema
	first := make(map[string]int, len(objects))
	kept := objects[:0]
	for _, object := range objects {
		i, found := first[object.name()]
		if !found {
			first[object.name()] = len(kept)
			kept = append(kept, object)
			continue
		}
		earlier := kept[i]
		counts := "the other one"
		if !labelled && earlier.unreadable() && !object.unreadable() {
			kept[i], counts = object, "this one"
		}
		findings.add(kind, alreadyDefined(kind, object, earlier, counts))
	}
	if labelled {
		return kept
	}
	return slices.DeleteFunc(kept, T.unreadable)
}

func alreadyDefined(kind string, object, earlier named, counts string) Diagnostic {
	d := errorAt(DuplicateObject, object.position(), fmt.Sprintf("rename or remove one of them; until then only %s counts", counts),
		"%s %s is already defined at %s", kind, object.name(), earlier.position())
	switch {
	case object.position() == earlier.position():
		d.Hint = "a base reads the same folder at another commit: give it a folder or branch of its own"
	case object.unreadable() && earlier.unreadable():
		d.Hint = "rename or remove one of them"
	}
	return d
}
