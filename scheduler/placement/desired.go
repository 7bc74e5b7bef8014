package placement

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/ansible"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"go.yaml.in/yaml/v3"
)

// carrier is the object on a cluster that an assignment's files make, and what it follows.
type carrier struct {
	kind string
	fleet.Ref
	repo, branch, path string // "" where the files do not say
}

func (c carrier) String() string {
	name := c.Name
	if c.Namespace != "" {
		name = c.Namespace + "/" + name
	}
	return c.kind + " " + name
}

type pair struct{ clusterType, target string }

// desired is what a GitOps branch asks for.
type desired struct {
	root     string
	carriers map[pair]*carrier // nil for an assignment without one
	// others are the carriers beside the assignments, by cluster type: users put files
	// there, too.
	others map[string][]carrier
}

// desiredOf reads a GitOps branch; root is the environment's folder.
func desiredOf(root string, files map[string][]byte) (*desired, error) {
	d := &desired{root: model.CleanFolder(root), carriers: map[pair]*carrier{}, others: map[string][]carrier{}}
	byPair := map[pair][]*yaml.Node{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		clusterType, target, isPair := publish.PairOf(root, file)
		if isPair {
			if _, known := d.carriers[pair{clusterType, target}]; !known {
				d.carriers[pair{clusterType, target}] = nil
			}
		} else if clusterType, isPair = d.typeOf(file); !isPair {
			continue
		}
		documents, err := documentsIn(file, files[file])
		if err != nil {
			return nil, err
		}
		if target == "" {
			d.others[clusterType] = append(d.others[clusterType], carriersIn(documents)...)
		} else {
			byPair[pair{clusterType, target}] = append(byPair[pair{clusterType, target}], documents...)
		}
	}
	for p, documents := range byPair {
		all := carriersIn(documents)
		if len(all) > 0 {
			d.carriers[p] = &all[0]
			d.others[p.clusterType] = append(d.others[p.clusterType], all[1:]...)
		} else if slices.ContainsFunc(documents, ansible.IsPlaybook) {
			// a host runs all playbooks of the folder, and calls them by its name
			d.carriers[p] = &carrier{kind: fleet.Playbook, Ref: fleet.Ref{Name: p.target}, path: d.folder(p.clusterType, p.target)}
		}
	}
	return d, nil
}

// carrying are words of which every file with a carrier has one.
var carrying = []string{fleet.Kustomization, fleet.Application, fleet.GitRepository, "hosts:"}

// documentsIn are those of a file that may have carriers.
func documentsIn(file string, content []byte) ([]*yaml.Node, error) {
	if !strings.HasSuffix(file, ".yaml") && !strings.HasSuffix(file, ".yml") ||
		!slices.ContainsFunc(carrying, func(word string) bool { return bytes.Contains(content, []byte(word)) }) {
		return nil, nil
	}
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return documents, nil
}

// Followed is what the object follows that carries an assignment, by the assignment's files:
// zero where they do not say.
func Followed(files map[string][]byte) (model.Reference, error) {
	var documents []*yaml.Node
	for _, file := range slices.Sorted(maps.Keys(files)) {
		more, err := documentsIn(file, files[file])
		if err != nil {
			return model.Reference{}, err
		}
		documents = append(documents, more...)
	}
	all := carriersIn(documents)
	if len(all) == 0 || all[0].repo == "" {
		return model.Reference{}, nil
	}
	return model.Reference{Repo: all[0].repo, Branch: all[0].branch, Path: model.CleanFolder(all[0].path)}, nil
}

// typeOf is the cluster type in whose folder a file is.
func (d *desired) typeOf(file string) (string, bool) {
	rest := file
	if d.root != "" {
		var below bool
		if rest, below = strings.CutPrefix(file, d.root+"/"); !below {
			return "", false
		}
	}
	clusterType, _, ok := strings.Cut(rest, "/")
	return clusterType, ok
}

// folder is that of an assignment, or of a cluster type.
func (d *desired) folder(parts ...string) string {
	return model.CleanFolder(strings.Join(append([]string{d.root}, parts...), "/"))
}

// asksFor is whether the files of a cluster type have an object.
func (d *desired) asksFor(clusterType string, s fleet.Subscription) bool {
	for p, c := range d.carriers {
		if p.clusterType == clusterType && c != nil && c.is(s) {
			return true
		}
	}
	for _, c := range d.others[clusterType] {
		if c.is(s) {
			return true
		}
	}
	return false
}

// is whether a subscription is the object. One without a namespace in git is put into
// whichever the subscription above it has.
func (c carrier) is(s fleet.Subscription) bool {
	return c.kind == s.Kind && c.Name == s.Name && (c.Namespace == "" || c.Namespace == s.Namespace)
}

const (
	kustomizeGroup = "kustomize.toolkit.fluxcd.io/"
	sourceGroup    = "source.toolkit.fluxcd.io/"
	argoCDGroup    = "argoproj.io/"
)

// carriersIn are the Kustomizations and Applications among objects.
func carriersIn(documents []*yaml.Node) []carrier {
	var all []carrier
	type source struct{ url, branch string }
	sources := map[fleet.Ref]source{}
	of := map[int]fleet.Ref{} // the sources of carriers
	for _, document := range documents {
		o := yamlpos.Resolve(document)
		if o.Kind == yaml.DocumentNode && len(o.Content) > 0 {
			o = yamlpos.Resolve(o.Content[0])
		}
		version := yamlpos.Text(o, "apiVersion")
		ref := fleet.Ref{Namespace: yamlpos.Text(o, "metadata", "namespace"), Name: yamlpos.Text(o, "metadata", "name")}
		switch kind := yamlpos.Text(o, "kind"); {
		case kind == fleet.GitRepository && strings.HasPrefix(version, sourceGroup):
			sources[ref] = source{yamlpos.Text(o, "spec", "url"), yamlpos.Text(o, "spec", "ref", "branch")}
		case kind == fleet.Kustomization && strings.HasPrefix(version, kustomizeGroup):
			of[len(all)] = fleet.Ref{Namespace: yamlpos.Text(o, "spec", "sourceRef", "namespace"), Name: yamlpos.Text(o, "spec", "sourceRef", "name")}
			all = append(all, carrier{kind: kind, Ref: ref, path: yamlpos.Text(o, "spec", "path")})
		case kind == fleet.Application && strings.HasPrefix(version, argoCDGroup):
			all = append(all, carrier{
				kind: kind, Ref: ref, path: yamlpos.Text(o, "spec", "source", "path"), repo: yamlpos.Text(o, "spec", "source", "repoURL"),
				branch: strings.TrimPrefix(yamlpos.Text(o, "spec", "source", "targetRevision"), "refs/heads/"),
			})
		}
	}
	for i, ref := range of {
		if ref.Namespace == "" {
			ref.Namespace = all[i].Namespace
		}
		all[i].repo, all[i].branch = sources[ref].url, sources[ref].branch
	}
	return all
}
