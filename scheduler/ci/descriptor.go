package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// DescriptorsFolder keeps the descriptors beside the folders of the deployment
// targets: in them, clusters would apply what they do not know.
const DescriptorsFolder = "descriptors"

// Description says which version of a workload is deployed, for the hub that
// observes deployments.
type Description struct {
	Workload    string // file
	Environment string
	Source      string // URL of the application's repository
	Branch      string // of it
	Workspace   string // the team
	Application string // what the workload is a part of; the workload itself when empty
	Version     string
	Build       string
	Commit      string
	Built       time.Time
	To          string // folder
}

// descriptor is a DeploymentDescriptor (hub.kalypso.io/v1alpha1).
type descriptor struct {
	APIVersion string             `yaml:"apiVersion"`
	Kind       string             `yaml:"kind"`
	Metadata   descriptorMetadata `yaml:"metadata"`
	Spec       descriptorSpec     `yaml:"spec"`
}

type descriptorMetadata struct {
	Name string `yaml:"name"`
}

type descriptorSpec struct {
	Workload         describedWorkload `yaml:"workload"`
	DeploymentTarget describedTarget   `yaml:"deploymentTarget"`
	WorkloadVersion  describedVersion  `yaml:"workloadVersion"`
}

type describedWorkload struct {
	Name        string               `yaml:"name"`
	Source      describedFolder      `yaml:"source"`
	Application describedApplication `yaml:"application"`
}

type describedApplication struct {
	Name      string             `yaml:"name"`
	Workspace descriptorMetadata `yaml:"workspace"`
}

type describedTarget struct {
	Name        string          `yaml:"name"`
	Environment string          `yaml:"environment"`
	Manifests   describedFolder `yaml:"manifests"`
}

type describedFolder struct {
	Repo   string `yaml:"repo"`
	Branch string `yaml:"branch"`
	Path   string `yaml:"path"`
}

type describedVersion struct {
	Version   string `yaml:"version"`
	Build     string `yaml:"build,omitempty"`
	Commit    string `yaml:"commit"`
	BuildTime string `yaml:"buildTime,omitempty"`
}

// Describe writes a DeploymentDescriptor for each deployment target that the
// workload has in the environment, and returns the files below Description.To.
func Describe(d Description) ([]string, error) {
	workload, err := ReadWorkload(d.Workload)
	if err != nil {
		return nil, err
	}
	targets, err := workload.In(d.Environment)
	if err != nil {
		return nil, err
	}
	if err := fullCommit("--commit", d.Commit); err != nil {
		return nil, err
	}
	switch {
	case d.To == "":
		return nil, usage.Errorf("descriptors to which folder? Give --to")
	case d.Version == "":
		return nil, usage.Errorf("which version is deployed? Give --version")
	case d.Workspace == "":
		return nil, usage.Errorf("which team's workload is it? Give --workspace")
	}
	if d.Application == "" {
		d.Application = workload.Name
	}
	var files []string
	for _, target := range targets {
		content, err := d.of(workload, target)
		if err != nil {
			return files, fmt.Errorf("descriptor of deployment target %s: %w", target.Name, err)
		}
		file := path.Join(DescriptorsFolder, workload.Name+"-"+target.Name+".yaml")
		if err := writeFile(d.To, file, content); err != nil {
			return files, fmt.Errorf("descriptor of deployment target %s: %w", target.Name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (d Description) of(workload Workload, target Target) ([]byte, error) {
	name := strings.ToLower(workload.Name + "-" + target.Name + "-" + strings.NewReplacer(".", "-", "_", "-", "+", "-").Replace(d.Version))
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return nil, fmt.Errorf("name %q: %s", name, model.Requirement(wrong[0]))
	}
	built := ""
	if !d.Built.IsZero() {
		built = d.Built.UTC().Format(time.RFC3339)
	}
	folder := path.Dir(path.Clean(strings.ReplaceAll(d.Workload, `\`, "/")))
	if path.IsAbs(folder) {
		folder = "."
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := encoder.Encode(descriptor{
		APIVersion: "hub.kalypso.io/v1alpha1", Kind: "DeploymentDescriptor", Metadata: descriptorMetadata{name},
		Spec: descriptorSpec{
			Workload: describedWorkload{
				Name:        workload.Name,
				Source:      describedFolder{redact.URL(d.Source), d.Branch, folder},
				Application: describedApplication{d.Application, descriptorMetadata{d.Workspace}},
			},
			DeploymentTarget: describedTarget{target.Name, target.Environment, describedFolder{redact.URL(target.Repo), target.Branch, "./" + target.Folder}},
			WorkloadVersion:  describedVersion{d.Version, d.Build, d.Commit, built},
		},
	})
	return b.Bytes(), err
}

// Version is a version of a workload, and what it is made of.
type Version struct {
	Version string
	Commit  string // of the application's repository
}

// DeployedVersion returns the version that the descriptors on a branch of an
// application's GitOps repository are about, the zero Version when there are no
// descriptors, and whether it is another one than before a push. A push that
// changes the configuration alone has no new version, and nothing to promote.
func DeployedVersion(ctx context.Context, f Forge, at model.Reference, before string) (v Version, isNew bool, err error) {
	if v, err = described(ctx, f, at); err != nil || v == (Version{}) {
		return Version{}, false, err
	}
	var old Version
	if before != "" {
		old, err = described(ctx, f, model.Reference{Repo: at.Repo, Commit: before})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return Version{}, false, err
		}
	}
	return v, v != old, nil
}

func described(ctx context.Context, f Forge, at model.Reference) (Version, error) {
	tree, err := f.Read(ctx, at)
	if err != nil {
		return Version{}, wrap(err, "descriptors of %s", at)
	}
	all, err := Descriptors(tree)
	if err != nil {
		return Version{}, err
	}
	var found Version
	for _, d := range all {
		if found != (Version{}) && d.Version != found {
			return Version{}, withHint(fmt.Errorf("the descriptors of %s are about different versions: %s and %s", at, found.Version, d.Version.Version),
				"deploy one version to all deployment targets of the environment")
		}
		found = d.Version
	}
	return found, nil
}

// Descriptor is what a DeploymentDescriptor says.
type Descriptor struct {
	Workload    string
	Target      string // as the workload names it
	Environment string
	Version     Version
}

// Descriptors are those in a tree, which is of an application's GitOps repository, by the
// names of their files.
func Descriptors(tree *model.Tree) ([]Descriptor, error) {
	var all []Descriptor
	for _, name := range slices.Sorted(maps.Keys(tree.Files)) {
		if !strings.HasPrefix(name, DescriptorsFolder+"/") || !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var d descriptor
		if err := yaml.Unmarshal(tree.Files[name], &d); err != nil {
			return nil, fmt.Errorf("%s of %s@%s: %w", name, redact.URL(tree.Repo), tree.Branch, err)
		}
		if d.Kind == "DeploymentDescriptor" {
			s := d.Spec
			all = append(all, Descriptor{s.Workload.Name, s.DeploymentTarget.Name, s.DeploymentTarget.Environment, Version{s.WorkloadVersion.Version, s.WorkloadVersion.Commit}})
		}
	}
	return all, nil
}
