package validate

import (
	"path"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// object identifies an object of the model: by where it is and what it is
// called, not by its line, which differs between commits.
type object struct {
	kind, name         string
	repo, branch, file string

	labelled *labelled
}

// labelled is what rules about any object need of it.
type labelled struct {
	labels map[string]string
	at     func(path ...string) model.Position
}

// id is the object without what cannot be compared.
func (o object) id() object {
	o.labelled = nil
	return o
}

// objectOf identifies an object of a kind.
func objectOf[Spec any](kind string, o model.Object[Spec]) object {
	return object{
		kind: kind, name: o.Name,
		repo: o.Position.Repo, branch: o.Position.Branch, file: o.Position.File,
		labelled: &labelled{labels: o.Labels, at: o.At},
	}
}

// kindConfigMap is the kind of objects with platform configuration.
const kindConfigMap = "ConfigMap"

// objectsOf lists all objects of an environment.
func objectsOf(env *model.Environment) []object {
	var all []object
	all = appendObjects(all, v1alpha1.KindClusterType, env.ClusterTypes)
	all = appendObjects(all, v1alpha1.KindSchedulingPolicy, env.Policies)
	all = appendObjects(all, kindConfigMap, env.Configs)
	all = appendObjects(all, v1alpha1.KindConfigSchema, env.ConfigSchemas)
	all = appendObjects(all, v1alpha1.KindTemplate, env.Templates)
	all = appendObjects(all, v1alpha1.KindWorkloadRegistration, env.Registrations)
	for _, w := range env.Workloads {
		all = append(all, objectOf(v1alpha1.KindWorkload, w.Object))
	}
	return all
}

func appendObjects[Spec any](all []object, kind string, objects []model.Object[Spec]) []object {
	for _, o := range objects {
		all = append(all, objectOf(kind, o))
	}
	return all
}

// cleanFolder brings the spellings of a folder in a repository to one: "" is
// the root.
func cleanFolder(folder string) string {
	return strings.TrimPrefix(path.Clean("/"+folder), "/")
}

// within says whether a file lies in a folder.
func within(file, folder string) bool {
	folder = cleanFolder(folder)
	return folder == "" || file == folder || strings.HasPrefix(file, folder+"/")
}
