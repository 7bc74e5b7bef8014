package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// Workload is the Workload object of an application's repository.
type Workload struct {
	File    string
	Name    string
	Targets []Target
}

// Target is a deployment target of a workload.
type Target struct {
	Name        string
	Environment string
	Repo        string // URL of the repository with its manifests
	Branch      string
	Folder      string // in there; "" is the root
}

// ReadWorkload reads the one Workload of a file.
func ReadWorkload(file string) (Workload, error) {
	w := Workload{File: file}
	data, err := os.ReadFile(file)
	if err != nil {
		return w, withHint(fmt.Errorf("the workload: %w", err), "name the file that has the application's Workload object with --workload")
	}
	found := 0
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
			Metadata   struct {
				Name string `yaml:"name"`
			} `yaml:"metadata"`
			Spec struct {
				DeploymentTargets []struct {
					Name        string         `yaml:"name"`
					Environment string         `yaml:"environment"`
					Manifests   map[string]any `yaml:"manifests"`
				} `yaml:"deploymentTargets"`
			} `yaml:"spec"`
		}
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return w, fmt.Errorf("%s: %w", file, err)
		}
		if document.Kind != v1alpha1.KindWorkload || !strings.HasPrefix(document.APIVersion, v1alpha1.Group+"/") {
			continue
		}
		found++
		w.Name = document.Metadata.Name
		for _, t := range document.Spec.DeploymentTargets {
			text := func(key string) string { s, _ := t.Manifests[key].(string); return s }
			target := Target{
				Name: t.Name, Environment: t.Environment, Repo: text("repo"), Branch: text("branch"),
				Folder: strings.TrimPrefix(path.Clean("/"+text("path")), "/"),
			}
			if target.Name == "" || strings.ContainsAny(target.Name, `/\`) || target.Name == ".." {
				return w, fmt.Errorf("%s: deployment target %q has no name that can be a folder's", file, target.Name)
			}
			w.Targets = append(w.Targets, target)
		}
	}
	if found != 1 || w.Name == "" {
		return w, fmt.Errorf("%s has %d Workload objects of %s: one with a name is needed", file, found, v1alpha1.Group)
	}
	return w, nil
}

// In returns the deployment targets of an environment. They share one branch of
// one repository, since one pull request brings them there, and have a folder
// each.
func (w Workload) In(environment string) ([]Target, error) {
	if environment == "" {
		return nil, usage.Errorf("the deployment targets of which environment? Give --environment")
	}
	var targets []Target
	var others []string
	folders := map[string]string{}
	for _, t := range w.Targets {
		if t.Environment != environment {
			others = append(others, t.Environment)
			continue
		}
		if other, taken := folders[t.Folder]; taken {
			return nil, fmt.Errorf("%s: deployment targets %s and %s have the same folder %q for their manifests", w.File, other, t.Name, t.Folder)
		}
		folders[t.Folder] = t.Name
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, withHint(fmt.Errorf("%s has no deployment target in environment %s", w.File, environment), "its targets are in: %s", strings.Join(others, ", "))
	}
	for _, t := range targets[1:] {
		if t.Repo != targets[0].Repo || t.Branch != targets[0].Branch {
			return nil, fmt.Errorf("%s: the manifests of deployment targets %s and %s are in different repositories or branches: one pull request cannot bring them there",
				w.File, targets[0].Name, t.Name)
		}
	}
	return targets, nil
}
