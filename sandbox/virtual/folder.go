package virtual

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/workshop"
	"go.yaml.in/yaml/v3"
)

// Object is what a cluster has applied.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// folderKey says how a folder of a revision is read.
type folderKey struct {
	path       string
	namespace  string // Flux's targetNamespace, or where Argo CD puts what names none
	reconciler workshop.Reconciler
	recurse    bool // for Argo CD; Flux always does
	directory  bool // for Argo CD: kustomize is not to be used

	prefix, suffix string // of Flux, for all names
	postBuild      string // where Flux is told to put values for variables, FILE:LINE; "" for nowhere
}

// folder is a folder of a revision as a reconciler takes it. Clusters share it.
type folder struct {
	objects []Object
	specs   []*spec // what it makes a cluster follow
	digest  string  // of what is in it
	problem string  // why it cannot be applied
}

// isManifest is whether a file's content is read.
func isManifest(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || path.Base(name) == "Kustomization"
}

// ignored are the folders and files that Flux leaves out of what it fetches
// (fluxcd.io/flux/components/source/gitrepositories, "Default exclusions"), as far
// as they could be manifests.
var ignored = []string{".git", ".github", ".circleci", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml"}

// reader reads a folder.
type reader struct {
	files map[string][]byte
	names []string // of all files, sorted
	key   folderKey
	into  *folder
	found *fluxObjects
	known map[Object]bool
}

// readFolder reads what a reconciler would apply of a folder: plain manifests, and
// of kustomize's files the fields resources, namespace, namePrefix and nameSuffix.
// Other fields that would make other objects are a problem, and not left out. The URL of the forge, whose port is chance, does not count for the digest.
func readFolder(files map[string][]byte, k folderKey, forge string) *folder {
	d := &folder{}
	r := &reader{files, slices.Sorted(maps.Keys(files)), k, d, newFluxObjects(), map[Object]bool{}}
	root := clean(k.path)
	if !r.exists(root) {
		d.problem = fmt.Sprintf("path not found: there is no folder %q", k.path)
		if k.reconciler == workshop.ArgoCD {
			d.problem = fmt.Sprintf("%s: app path does not exist", k.path)
		}
		return d
	}
	sum := sha256.New()
	for _, name := range r.below(root) {
		content := bytes.ReplaceAll(files[name], []byte(forge), nil)
		fmt.Fprintf(sum, "%s\x00%d\x00", name, len(content))
		sum.Write(content)
	}
	d.digest = hex.EncodeToString(sum.Sum(nil)[:12])
	if err := r.folder(root); err != nil {
		return &folder{problem: err.Error(), digest: d.digest}
	}
	d.specs = append(d.specs, r.found.specs()...)
	return d
}

func clean(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

func (r *reader) exists(dir string) bool {
	return dir == "" || len(r.below(dir)) > 0
}

// below are the names of the files in a folder, and in those within.
func (r *reader) below(dir string) []string {
	if dir == "" {
		return r.names
	}
	from, _ := slices.BinarySearch(r.names, dir+"/")
	to, _ := slices.BinarySearch(r.names, dir+"0") // what follows on '/'
	return r.names[from:to]
}

func (r *reader) folder(dir string) error {
	if r.key.reconciler == workshop.ArgoCD && (r.key.directory || r.key.recurse) {
		return r.plain(dir, r.key.recurse)
	}
	if file := r.kustomization(dir); file != "" {
		return r.kustomize(dir, file, r.outermost(), 0)
	}
	return r.plain(dir, r.key.reconciler == workshop.Flux)
}

// plain reads the manifests of a folder; for Flux, those of a folder within that
// has a file of kustomize's as that says.
func (r *reader) plain(dir string, recurse bool) error {
	var built string
	for _, name := range r.below(dir) {
		inner := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
		switch {
		case !isManifest(name), built != "" && strings.HasPrefix(name, built+"/"):
			continue
		case !recurse && strings.Contains(inner, "/"):
			continue
		}
		if r.key.reconciler == workshop.Flux {
			if slices.ContainsFunc(ignored, func(i string) bool { return name == i || strings.HasPrefix(name, i+"/") }) {
				continue
			}
			if within := r.firstBuilt(dir, name); within != "" {
				built = within
				if err := r.kustomize(within, r.kustomization(within), r.outermost(), 0); err != nil {
					return err
				}
				continue
			}
		}
		if err := r.manifests(name, r.outermost()); err != nil {
			return err
		}
	}
	return nil
}

// firstBuilt is the outermost folder below dir, on the way to a file, that has a
// file of kustomize's; "" for none.
func (r *reader) firstBuilt(dir, name string) string {
	found := ""
	for p := path.Dir(name); p != "." && p != dir && len(p) > len(dir); p = path.Dir(p) {
		if r.kustomization(p) != "" {
			found = p
		}
	}
	return found
}

// kustomization is the file of kustomize's in a folder, "" for none.
func (r *reader) kustomization(dir string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, there := r.files[path.Join(dir, name)]; there {
			return path.Join(dir, name)
		}
	}
	return ""
}

// changes are what files of kustomize's do to all objects below them.
type changes struct{ namespace, prefix, suffix string }

// outermost are those that the reconciler is told to make.
func (r *reader) outermost() changes { return changes{prefix: r.key.prefix, suffix: r.key.suffix} }

// makesOthers are the fields of kustomize's files with which there are other objects,
// or others of the same name: a virtual cluster does not build them.
var makesOthers = []string{"components", "configMapGenerator", "secretGenerator", "helmCharts", "helmChartInflationGenerator", "generators", "transformers", "replacements"}

// maxNested is how deep files of kustomize's may name each other.
const maxNested = 20

func (r *reader) kustomize(dir, file string, c changes, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("%s: kustomize's files name each other without an end", file)
	}
	documents, err := r.documents(file)
	if err != nil || len(documents) == 0 {
		return err
	}
	root := documents[0]
	for _, field := range makesOthers {
		if key, _ := yamlpos.Field(root, field); key != nil {
			return fmt.Errorf("%s:%d: a virtual cluster does not build %s", file, key.Line, field)
		}
	}
	for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		if at := removesOrRenames(yamlpos.Value(root, field)); at != nil {
			return fmt.Errorf("%s:%d: a virtual cluster makes no patch that removes or renames an object", file, at.Line)
		}
	}
	// the outer one has the last word on the namespace
	c = changes{c.namespace, c.prefix + yamlpos.Text(root, "namePrefix"), yamlpos.Text(root, "nameSuffix") + c.suffix}
	if c.namespace == "" {
		c.namespace = yamlpos.Text(root, "namespace")
	}
	for _, list := range []string{"resources", "bases"} {
		entries := yamlpos.Value(root, list)
		if entries == nil {
			continue
		}
		for _, entry := range entries.Content {
			at := clean(path.Join(dir, entry.Value))
			_, isFile := r.files[at]
			switch {
			case strings.Contains(entry.Value, "://"):
				return fmt.Errorf("%s:%d: a virtual cluster does not fetch %s", file, entry.Line, entry.Value)
			case isFile:
				err = r.manifests(at, c)
			case r.kustomization(at) != "":
				err = r.kustomize(at, r.kustomization(at), c, depth+1)
			default:
				err = fmt.Errorf("%s:%d: accumulating resources: there is no %s", file, entry.Line, at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removesOrRenames returns the text of a patch in kustomize's file, or in Flux's
// object, after which there are other objects; nil for none.
func removesOrRenames(node *yaml.Node) *yaml.Node {
	if node = yamlpos.Resolve(node); node == nil {
		return nil
	}
	if node.Kind == yaml.ScalarNode {
		for _, sign := range []string{"$patch: delete", "/metadata/name"} { // and /metadata/namespace
			if strings.Contains(node.Value, sign) {
				return node
			}
		}
	}
	for _, inner := range node.Content {
		if at := removesOrRenames(inner); at != nil {
			return at
		}
	}
	return nil
}

// documents are those of a file that are not empty.
func (r *reader) documents(file string) ([]*yaml.Node, error) {
	content := r.files[file]
	if content == nil {
		return nil, fmt.Errorf("%s: the file is too large to be read", file)
	}
	all, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: failed to decode Kubernetes YAML: %w", file, err)
	}
	var roots []*yaml.Node
	for _, d := range all {
		if len(d.Content) > 0 && !yamlpos.IsNull(d.Content[0]) {
			roots = append(roots, d.Content[0])
		}
	}
	return roots, nil
}

func (r *reader) manifests(file string, c changes) error {
	documents, err := r.documents(file)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := r.object(file, d, c); err != nil {
			return err
		}
	}
	return nil
}
