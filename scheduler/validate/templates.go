package validate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/ansible"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// templateTexts reports templates that do not parse, whether or not they are
// used.
func (e *examination) templateTexts(ctx context.Context) {
	for _, t := range e.Model.Templates {
		problems, err := templateProblems(ctx, t)
		if err != nil {
			return
		}
		for _, p := range problems {
			e.report(e.fromProblem(p))
		}
	}
}

// templates reports templates that no cluster type names.
func (e *examination) templates() {
	named := map[string]bool{}
	for _, c := range e.Model.ClusterTypes {
		for _, t := range plan.NamedTemplates(&c) {
			named[t.Name] = true
		}
	}
	for _, t := range e.Model.Templates {
		if !named[t.Name] {
			e.report(Finding{
				Rule: UnusedTemplate, Severity: Note, Position: t.At("metadata", "name"),
				object: objectOf(v1alpha1.KindTemplate, t), unused: true,
				Message: fmt.Sprintf("no cluster type names template %s", t.Name),
			})
		}
	}
}

// manifest is a rendered document's identity, as Kubernetes sees it.
type manifest struct {
	clusterType string
	group, kind string
	namespace   string
	name        string
}

// identity is what names a document.
type identity struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name         string `yaml:"name"`
		GenerateName string `yaml:"generateName"`
		Namespace    string `yaml:"namespace"`
	} `yaml:"metadata"`
}

// maker is an assignment and the template that makes a manifest for it.
type maker struct {
	Assignment
	template model.Template
}

// rendered reports what is wrong with the manifests that come out of the
// templates: documents that Kubernetes does not take, and one object that two
// deployment targets make, which Flux refuses together with all else on the
// cluster.
func (e *examination) rendered() {
	templates := map[string]model.Template{} // by cluster type and file
	for _, c := range e.Model.ClusterTypes {
		for _, named := range plan.NamedTemplates(&c) {
			for _, t := range e.Model.Templates {
				if t.Name == named.Name {
					templates[c.Name+"/"+named.File+".yaml"] = t
				}
			}
		}
	}
	makers := map[manifest][]maker{}
	files := e.plan.Files()
	for _, a := range e.plan.Assignments {
		for _, file := range a.Files {
			m := maker{Assignment{e.Model.Name, a.ClusterType, a.Target}, templates[a.ClusterType+"/"+path.Base(file)]}
			if m.template.Name == "" {
				continue // a script
			}
			for _, id := range e.manifests(m, files[file]) {
				makers[id] = append(makers[id], m)
			}
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(makers), compareManifests) {
		if len(makers[id]) > 1 {
			e.report(twice(id, makers[id]))
		}
	}
}

// manifests returns what a rendered file defines, and reports documents that
// define nothing.
func (e *examination) manifests(m maker, content []byte) []manifest {
	var ids []manifest
	documents, _ := yamlpos.Documents(bytes.NewReader(content)) // the plan has made sure that it is YAML
	for _, document := range documents {
		if yamlpos.IsNull(document.Content[0]) {
			continue
		}
		if ansible.IsPlaybook(document) { // which is for hosts, and not for Kubernetes
			continue
		}
		// What is no text where one must be counts as missing.
		var d identity
		_ = document.Decode(&d)
		if missing := missingOf(d.APIVersion, d.Kind, d.Metadata.Name+d.Metadata.GenerateName); missing != "" {
			e.report(Finding{
				Rule: NotKubernetes, Severity: Warning, Position: m.template.At("spec", "manifests"),
				object:      objectOf(v1alpha1.KindTemplate, m.template),
				Message:     fmt.Sprintf("template %s makes a document without %s", m.template.Name, missing),
				Hint:        "Kubernetes takes no such document, and GitOps tools refuse the whole folder",
				Assignments: []Assignment{m.Assignment},
			})
			continue
		}
		if d.Metadata.Name == "" {
			continue
		}
		group, _, grouped := strings.Cut(d.APIVersion, "/")
		if !grouped {
			group = ""
		}
		ids = append(ids, manifest{m.ClusterType, group, d.Kind, d.Metadata.Namespace, d.Metadata.Name})
	}
	return ids
}

func missingOf(apiVersion, kind, name string) string {
	switch {
	case apiVersion == "":
		return "apiVersion"
	case kind == "":
		return "kind"
	case name == "" && !strings.HasSuffix(kind, "List"):
		return "metadata.name"
	}
	return ""
}

// twice reports a manifest that several assignments, or one several times,
// make.
func twice(id manifest, makers []maker) Finding {
	slices.SortFunc(makers, func(a, b maker) int { return compareAssignments(a.Assignment, b.Assignment) })
	t := makers[0].template
	f := Finding{
		Rule: RenderedTwice, Severity: Warning, Position: t.At("spec", "manifests"), object: objectOf(v1alpha1.KindTemplate, t),
		Hint: "put the deployment target's name into its name",
	}
	var targets []string
	for _, m := range makers {
		f.Assignments = append(f.Assignments, m.Assignment)
		targets = append(targets, m.Target)
	}
	if targets = unique(targets); len(targets) == 1 {
		f.Message = fmt.Sprintf("template %s makes several objects of kind %s with the same name for a deployment target", t.Name, id.kind)
		f.Hint = "give them different names"
		return f
	}
	name := id.name
	if id.namespace != "" {
		name = id.namespace + "/" + name
	}
	f.Message = fmt.Sprintf("template %s makes %s %s for several deployment targets of cluster type %s: %s",
		t.Name, id.kind, name, id.clusterType, clause.List(targets))
	return f
}

func compareManifests(a, b manifest) int {
	return slices.Compare(
		[]string{a.clusterType, a.group, a.kind, a.namespace, a.name},
		[]string{b.clusterType, b.group, b.kind, b.namespace, b.name},
	)
}
