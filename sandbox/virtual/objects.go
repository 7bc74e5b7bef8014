package virtual

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/workshop"
	"go.yaml.in/yaml/v3"
)

const (
	sourceGroup    = "source.toolkit.fluxcd.io"
	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	argoCDGroup    = "argoproj.io"
)

// clusterScoped are the kinds of Kubernetes, and those of the definitions of kinds,
// that are in no namespace.
var clusterScoped = []string{
	"Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "StorageClass",
	"PriorityClass", "IngressClass", "RuntimeClass", "APIService", "CSIDriver", "CertificateSigningRequest", "FlowSchema",
	"PriorityLevelConfiguration", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

// object adds an object of a manifest, or each of a List.
func (r *reader) object(file string, d *yaml.Node, c changes) error {
	o := Object{APIVersion: yamlpos.Text(d, "apiVersion"), Kind: yamlpos.Text(d, "kind"), Name: yamlpos.Text(d, "metadata", "name")}
	missing := ""
	switch {
	case d.Kind != yaml.MappingNode, o.Kind == "":
		missing = "kind"
	case o.APIVersion == "":
		missing = "apiVersion"
	case strings.HasSuffix(o.Kind, "List") && yamlpos.Value(d, "items") != nil:
		for _, item := range yamlpos.Value(d, "items").Content {
			if err := r.object(file, yamlpos.Resolve(item), c); err != nil {
				return err
			}
		}
		return nil
	case o.Name == "":
		missing = "metadata.name"
	}
	if missing != "" {
		return fmt.Errorf("%s:%d: an object without %s", file, d.Line, missing)
	}
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	if group == argoCDGroup && o.Kind == "ApplicationSet" && r.key.reconciler == workshop.ArgoCD {
		return fmt.Errorf("%s:%d: ApplicationSet %s: a virtual cluster makes no Applications of it", file, d.Line, o.Name)
	}
	if problem := r.unknown(group, o); problem != "" {
		return fmt.Errorf("%s:%d: %s", file, d.Line, problem)
	}
	if o.Kind != "Namespace" && o.Kind != "CustomResourceDefinition" {
		o.Name = c.prefix + o.Name + c.suffix
	}
	if !slices.Contains(clusterScoped, o.Kind) {
		o.Namespace = cmp.Or(c.namespace, yamlpos.Text(d, "metadata", "namespace"))
		if r.key.reconciler == workshop.Flux {
			o.Namespace = cmp.Or(r.key.namespace, o.Namespace, "default")
		}
		o.Namespace = cmp.Or(o.Namespace, r.key.namespace, "default")
	}
	if r.key.postBuild != "" && strings.Contains(o.Name+o.Namespace, "${") {
		return fmt.Errorf("%s:%d: the name has a variable, and a virtual cluster has no value for it, which %s gives", file, d.Line, r.key.postBuild)
	}
	id := o
	id.APIVersion = group
	if r.known[id] && r.key.reconciler == workshop.Flux {
		return fmt.Errorf("%s:%d: %s %s is there twice", file, d.Line, o.Kind, o.Name)
	}
	r.known[id] = true
	r.into.objects = append(r.into.objects, o)
	r.follow(file, group, o, d)
	return nil
}

// unknown is what an API server says of a kind that the cluster does not have: it
// has those of its own reconciler only.
func (r *reader) unknown(group string, o Object) string {
	switch {
	case r.key.reconciler == workshop.Flux && group == sourceGroup && o.Kind == "GitRepository",
		r.key.reconciler == workshop.Flux && group == kustomizeGroup && o.Kind == "Kustomization",
		r.key.reconciler == workshop.ArgoCD && group == argoCDGroup && slices.Contains([]string{"Application", "AppProject"}, o.Kind),
		group != argoCDGroup && !strings.HasSuffix(group, ".toolkit.fluxcd.io"):
		return ""
	}
	return fmt.Sprintf("no matches for kind %q in version %q", o.Kind, o.APIVersion)
}

// follow notes what an object makes the cluster follow. What a virtual cluster does
// otherwise than a reconciler, so that there were other objects, is a problem.
func (r *reader) follow(file, group string, o Object, d *yaml.Node) {
	text := func(path ...string) string { return yamlpos.Text(d, path...) }
	line := func(path ...string) string {
		key, _ := yamlpos.Closest(d, path...)
		return fmt.Sprintf("%s:%d", file, key.Line)
	}
	problem := func(s *spec, says string, path ...string) {
		if yamlpos.Value(d, path...) != nil {
			s.problem = cmp.Or(s.problem, fmt.Sprintf("%s: %s %s: a virtual cluster %s", line(path...), o.Kind, o.Name, says))
		}
	}
	at := Ref{o.Namespace, o.Name}
	switch {
	case group == sourceGroup:
		s := &spec{repository: at, url: text("spec", "url"), branch: text("spec", "ref", "branch"), suspended: text("spec", "suspend") == "true"}
		for _, other := range []string{"tag", "semver", "commit", "name"} {
			problem(s, "follows branches, and no "+other, "spec", "ref", other)
		}
		for _, other := range []string{"ignore", "include", "sparseCheckout"} {
			problem(s, "fetches a branch as it is, without "+other, "spec", other)
		}
		s.branch = cmp.Or(s.branch, "master") // Flux's default
		r.found.repositories[at] = s
	case group == kustomizeGroup:
		s := &spec{
			namespace: o.Namespace, name: o.Name, suspended: text("spec", "suspend") == "true",
			repository: Ref{cmp.Or(text("spec", "sourceRef", "namespace"), o.Namespace), text("spec", "sourceRef", "name")},
			folder: folderKey{
				path: text("spec", "path"), namespace: text("spec", "targetNamespace"), reconciler: workshop.Flux,
				prefix: text("spec", "namePrefix"), suffix: text("spec", "nameSuffix"),
			},
		}
		if yamlpos.Value(d, "spec", "postBuild") != nil {
			s.folder.postBuild = line("spec", "postBuild")
		}
		if dependencies := yamlpos.Resolve(yamlpos.Value(d, "spec", "dependsOn")); dependencies != nil {
			for _, one := range dependencies.Content {
				s.dependsOn += cmp.Or(yamlpos.Text(one, "namespace"), o.Namespace) + "/" + yamlpos.Text(one, "name") + " "
			}
		}
		if kind := text("spec", "sourceRef", "kind"); kind != "GitRepository" {
			problem(s, "has no source of kind "+kind, "spec", "sourceRef")
		}
		problem(s, "adds no components", "spec", "components")
		problem(s, "applies to itself, and to no other cluster", "spec", "kubeConfig")
		if at := removesOrRenames(yamlpos.Value(d, "spec", "patches")); at != nil {
			problem(s, "makes no patch that removes or renames an object", "spec", "patches")
		}
		r.found.kustomizations = append(r.found.kustomizations, s)
	case group == argoCDGroup && o.Kind == "Application":
		directory := yamlpos.Value(d, "spec", "source", "directory")
		s := &spec{
			namespace: o.Namespace, name: o.Name, url: text("spec", "source", "repoURL"),
			branch: strings.TrimPrefix(text("spec", "source", "targetRevision"), "refs/heads/"),
			folder: folderKey{
				path: text("spec", "source", "path"), namespace: text("spec", "destination", "namespace"), reconciler: workshop.ArgoCD,
				recurse: yamlpos.Text(directory, "recurse") == "true", directory: directory != nil,
			},
		}
		if s.branch == "HEAD" {
			s.branch = "" // the default one
		}
		const follows = "follows a folder of one git repository"
		problem(s, follows, "spec", "source", "chart")
		problem(s, follows, "spec", "sources")
		if s.url == "" {
			problem(s, follows, "spec")
		}
		for _, tool := range []string{"kustomize", "helm", "plugin"} {
			problem(s, "has no settings of "+tool, "spec", "source", tool)
		}
		for _, filter := range []string{"include", "exclude", "jsonnet"} {
			problem(s, "reads a folder as it is, without "+filter, "spec", "source", "directory", filter)
		}
		if yamlpos.Value(d, "spec", "syncPolicy", "automated") == nil {
			problem(s, "is synced by nobody: spec.syncPolicy.automated is missing", "spec")
		}
		r.into.specs = append(r.into.specs, s)
	}
}

// fluxObjects are those of a folder that say what to follow.
type fluxObjects struct {
	repositories   map[Ref]*spec
	kustomizations []*spec
}

func newFluxObjects() *fluxObjects { return &fluxObjects{repositories: map[Ref]*spec{}} }

// specs puts each Kustomization together with its repository, and adds the
// repositories that none of them applies.
func (o *fluxObjects) specs() []*spec {
	used := map[Ref]bool{}
	var all []*spec
	for _, k := range o.kustomizations {
		if r := o.repositories[k.repository]; r != nil {
			used[k.repository] = true
			k.url, k.branch = r.url, r.branch
			k.suspended = k.suspended || r.suspended
			k.problem = cmp.Or(k.problem, r.problem)
		}
		all = append(all, k)
	}
	alone := slices.SortedFunc(maps.Keys(o.repositories), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, at := range alone {
		if !used[at] {
			all = append(all, o.repositories[at])
		}
	}
	return all
}
