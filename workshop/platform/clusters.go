package platform

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// fetched is what a rendered object tells a reconciler to fetch.
type fetched struct {
	reconciler workshop.Reconciler
	url        string // "" for an object that fetches nothing itself
	branch     string
	chart      bool   // the URL is no git repository
	secret     string // with the credentials for it
}

// fetchedBy reads the objects of Flux and Argo CD in a file. A file that is no YAML
// has none.
func fetchedBy(content []byte) []fetched {
	var all []fetched
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var object struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Spec       yaml.Node
		}
		if decoder.Decode(&object) != nil {
			return all
		}
		var spec struct {
			URL       string                  `yaml:"url"`
			Ref       struct{ Branch string } `yaml:"ref"`
			SecretRef struct{ Name string }   `yaml:"secretRef"`
			Source    application             `yaml:"source"`
			Sources   []application           `yaml:"sources"`
		}
		group, _, _ := strings.Cut(object.APIVersion, "/")
		if object.Spec.Kind != yaml.MappingNode || object.Spec.Decode(&spec) != nil {
			continue
		}
		switch {
		case strings.HasSuffix(group, "toolkit.fluxcd.io"):
			f := fetched{reconciler: workshop.Flux, url: spec.URL, branch: spec.Ref.Branch, chart: object.Kind != "GitRepository"}
			if object.Kind == "GitRepository" {
				f.secret = spec.SecretRef.Name
			}
			all = append(all, f)
		case group == "argoproj.io" && object.Kind == "Application":
			for _, s := range append(spec.Sources, spec.Source) {
				if s.RepoURL != "" {
					all = append(all, fetched{reconciler: workshop.ArgoCD, url: s.RepoURL, branch: s.TargetRevision, chart: s.Chart != ""})
				}
			}
		}
	}
}

type application struct {
	RepoURL        string `yaml:"repoURL"`
	TargetRevision string `yaml:"targetRevision"`
	Chart          string `yaml:"chart"`
}

// clusters makes the clusters of the types in use, or of those that were asked for.
func (b *building) clusters() ([]workshop.Cluster, error) {
	types, used := map[string]model.ClusterType{}, map[string]bool{}
	var order []string
	for _, e := range b.environments {
		for _, t := range e.ClusterTypes {
			if _, known := types[t.Name]; !known {
				types[t.Name] = t
				order = append(order, t.Name)
			}
		}
		if e.plan != nil {
			for _, a := range e.plan.Assignments {
				used[a.ClusterType] = true
			}
		}
	}
	for _, name := range append(slices.Clone(b.ClusterTypes), slices.Sorted(maps.Keys(b.Clusters))...) {
		if _, known := types[name]; !known {
			return nil, usage.Errorf("there is no cluster type %s: choose of %s", name, strings.Join(slices.Sorted(slices.Values(order)), ", "))
		}
	}
	var clusters []workshop.Cluster
	for _, name := range order {
		_, several := b.Clusters[name]
		switch {
		case len(b.ClusterTypes) > 0 && !slices.Contains(b.ClusterTypes, name) && !several:
			continue
		case len(b.ClusterTypes) == 0 && !used[name] && !several:
			b.note(types[name].Position, "cluster type %s has no cluster, since nothing is assigned to it: --cluster-types makes one", name)
			continue
		}
		reconciler := b.reconcilerOf(types[name])
		if reconciler == "" {
			b.note(types[name].Position, "cluster type %s has no cluster, since its template %s makes nothing for Flux or Argo CD", name, types[name].Spec.Reconciler)
			continue
		}
		made, err := b.clustersOf(types[name], reconciler)
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, made...)
	}
	return clusters, nil
}

// clustersOf makes the clusters of one type.
func (b *building) clustersOf(t model.ClusterType, reconciler workshop.Reconciler) ([]workshop.Cluster, error) {
	c := workshop.Cluster{Name: t.Name, Type: t.Name, Reconciler: reconciler, Node: b.Node}
	if c.Node == "" {
		c.Node = workshop.SimulatedNode
	}
	for _, e := range b.environments {
		if e.GitOps.Repo == "" || !slices.ContainsFunc(e.ClusterTypes, func(o model.ClusterType) bool { return o.Name == t.Name }) {
			continue
		}
		if wrong := validation.IsDNS1123Label(e.Name); len(wrong) > 0 {
			return nil, &source.Error{
				Message: fmt.Sprintf("%s: environment %s cannot name what a cluster follows: %s", e.ControlPlane.Branch, e.Name, wrong[0]),
				Hint:    "give the environment a shorter name",
			}
		}
		gitops := b.repositoryAt(e.GitOps.Repo)
		c.Follows = append(c.Follows, workshop.Subscription{
			Name: e.Name, Repository: gitops, Branch: e.GitOps.Branch, Path: path.Join(model.CleanFolder(e.GitOps.Path), t.Name),
		})
		needed := []string{gitops}
		for _, f := range e.rendered[t.Name] {
			if f.reconciler == workshop.Flux && c.Credentials == "" {
				c.Credentials = f.secret
			}
			if name := b.repositoryAt(f.url); name != "" && !f.chart {
				needed = append(needed, name)
			}
		}
		if reconciler == workshop.ArgoCD {
			for _, name := range needed {
				if !slices.Contains(c.Repositories, name) {
					c.Repositories = append(c.Repositories, name)
				}
			}
		}
	}
	n, several := b.Clusters[t.Name]
	if several && n < 1 {
		return nil, usage.Errorf("--clusters %s=%d: write how many, from 1", t.Name, n)
	}
	if !several {
		n = 1
	}
	var made []workshop.Cluster
	for i := range n {
		one := c
		if n > 1 {
			one.Name += "-" + strconv.Itoa(i+1)
		}
		if wrong := validation.IsDNS1123Label(one.Name); len(wrong) > 0 || len(one.Name) > longestClusterName {
			return nil, &source.Error{
				Message: fmt.Sprintf("%s: cluster type %s cannot name a cluster: %s", t.Position, one.Name, append(wrong, tooLongForCluster)[0]),
				Hint:    "leave the type out with --cluster-types, or give it a shorter name",
			}
		}
		made = append(made, one)
	}
	return made, nil
}

// repositoryAt returns the name of the copy of a repository, "" where there is none.
func (b *building) repositoryAt(address string) string {
	one := b.clones.clones[source.Identity(address, "/")]
	if address == "" || one == nil || one.err != nil {
		return ""
	}
	return one.name
}

// reconcilerOf is what the templates of a cluster type make: by what is rendered
// where something is assigned to it, else by the template's text.
func (b *building) reconcilerOf(t model.ClusterType) workshop.Reconciler {
	for _, e := range b.environments {
		for _, f := range e.rendered[t.Name] {
			return f.reconciler
		}
	}
	for _, e := range b.environments {
		for _, template := range e.Templates {
			if template.Name != t.Spec.Reconciler {
				continue
			}
			for _, m := range template.Spec.Manifests {
				switch {
				case strings.Contains(m.Text, "toolkit.fluxcd.io/"):
					return workshop.Flux
				case strings.Contains(m.Text, "argoproj.io/"):
					return workshop.ArgoCD
				}
			}
		}
	}
	return ""
}

// platformRepositories are those of the platform team.
func (b *building) platformRepositories() map[*clone]bool {
	all := map[*clone]bool{b.control: true}
	for _, e := range b.environments {
		refs := []string{e.ControlPlane.Repo, e.GitOps.Repo}
		for _, base := range e.BaseRepos {
			refs = append(refs, base.Spec.Repo)
		}
		for _, ref := range refs {
			if one := b.clones.clones[source.Identity(ref, "/")]; one != nil {
				all[one] = true
			}
		}
	}
	return all
}

// longestClusterName leaves room for what the sandbox makes of the name of a cluster.
const longestClusterName = 40

var tooLongForCluster = fmt.Sprintf("must be no more than %d characters", longestClusterName)

func checkRepositoryName(one *clone) error {
	wrong := workshop.RepositoryNameProblem(one.name)
	if wrong == "" {
		return nil
	}
	return &source.Error{
		Message: fmt.Sprintf("%s: the forge takes no repository %s: the name %s", one.named, one.name, wrong),
		Hint:    fmt.Sprintf("give it another name: --name %s=OTHER", one.urls[0]),
	}
}
