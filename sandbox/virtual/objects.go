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
	id := o
	id.APIVersion = group
	if r.known[id] && r.key.reconciler == workshop.Flux {
		return fmt.Errorf("%s:%d: %s %s is there twice", file, d.Line, o.Kind, o.Name)
	}
	r.known[id] = true
	r.into.objects = append(r.into.objects, o)
	r.follow(group, o, d)
	return nil
}

// unknown is what an API server says of a kind that the cluster does not have: it
// has those of its own reconciler only.
func (r *reader) unknown(group string, o Object) string {
	switch {
	case r.key.reconciler == workshop.Flux && group == sourceGroup && o.Kind == "GitRepository",
		r.key.reconciler == workshop.Flux && group == kustomizeGroup && o.Kind == "Kustomization",
		r.key.reconciler == workshop.ArgoCD && group == argoCDGroup && slices.Contains([]string{"Application", "AppProject", "ApplicationSet"}, o.Kind),
		group != argoCDGroup && !strings.HasSuffix(group, ".toolkit.fluxcd.io"):
		return ""
	}
	return fmt.Sprintf("no matches for kind %q in version %q", o.Kind, o.APIVersion)
}

// follow notes what an object makes the cluster follow.
func (r *reader) follow(group string, o Object, d *yaml.Node) {
	text := func(path ...string) string { return yamlpos.Text(d, path...) }
	at := Ref{o.Namespace, o.Name}
	switch {
	case group == sourceGroup:
		s := &spec{repository: at, url: text("spec", "url"), branch: text("spec", "ref", "branch"), suspended: text("spec", "suspend") == "true"}
		for _, other := range []string{"tag", "semver", "commit", "name"} {
			if text("spec", "ref", other) != "" {
				s.problem = fmt.Sprintf("GitRepository %s: a virtual cluster follows branches, and no %s", o.Name, other)
			}
		}
		s.branch = cmp.Or(s.branch, "master") // Flux's default
		r.found.repositories[at] = s
	case group == kustomizeGroup:
		s := &spec{
			namespace: o.Namespace, name: o.Name, suspended: text("spec", "suspend") == "true",
			repository: Ref{cmp.Or(text("spec", "sourceRef", "namespace"), o.Namespace), text("spec", "sourceRef", "name")},
			folder:     folderKey{path: text("spec", "path"), namespace: text("spec", "targetNamespace"), reconciler: workshop.Flux},
		}
		if kind := text("spec", "sourceRef", "kind"); kind != "GitRepository" {
			s.problem = fmt.Sprintf("Kustomization %s: a virtual cluster has no source of kind %s", o.Name, kind)
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
		if s.url == "" || text("spec", "source", "chart") != "" {
			s.problem = fmt.Sprintf("Application %s: a virtual cluster follows a folder of one git repository", o.Name)
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
