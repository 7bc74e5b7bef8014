package history

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// Configuration is the platform configuration of an environment.
type Configuration struct {
	Values []ConfigValue
	// Of what is planned now: how much is wrong with the model, why it cannot be loaded, of
	// which then Values are older, and the deployment targets that the plan changes.
	Problems int
	Error    string
	Changed  map[string]bool
}

// ConfigValue is a key of an assignment's platform configuration.
type ConfigValue struct {
	ClusterType, Target string
	Key, Value          string
	ConfigMap           string
	Position            model.Position // of the key
}

// Configuration is the platform configuration of all assignments below the folder of a GitOps
// branch, as a commit has it. The error wraps forge.ErrNotFound for a commit that the forge does
// not give, as one from before a push with force.
func (r *Reader) Configuration(ctx context.Context, branch model.Reference, commit string) (all []ConfigValue, err error) {
	root := model.CleanFolder(branch.Path)
	err = r.withMirror(ctx, branch.Repo, func(m *mirror) error {
		all = nil
		at := plumbing.NewHash(commit)
		if m.storage.HasEncodedObject(at) != nil {
			if _, err := m.fetch(ctx, r.Forge, branch.Branch); err != nil {
				return err
			}
			if m.storage.HasEncodedObject(at) != nil { // which is no damage of the mirror
				return fmt.Errorf("commit %.10s of branch %s of %s: %w", commit, branch.Branch, redact.URL(branch.Repo), forge.ErrNotFound)
			}
		}
		folder, err := m.folderAt(at, root)
		if err != nil {
			return err
		}
		return m.eachFile(folder, root, func(name string, id plumbing.Hash) error {
			clusterType, target, of := publish.PairOf(root, name)
			if stem, _, _ := strings.Cut(path.Base(name), "."); !of || stem != "platform-config" {
				return nil
			}
			content, err := m.content(id)
			if err != nil {
				return err
			}
			position := model.Position{Repo: branch.Repo, Branch: branch.Branch, File: name}
			for _, one := range ConfigIn(r.Addresses.Replace(content), position) {
				one.ClusterType, one.Target = clusterType, target
				all = append(all, one)
			}
			return context.Cause(ctx)
		})
	})
	return all, err
}

// ConfigIn are the keys of the ConfigMaps in a file. What cannot be read has none.
func ConfigIn(content []byte, at model.Position) []ConfigValue {
	var all []ConfigValue
	documents, _ := yamlpos.Documents(bytes.NewReader(content))
	for _, document := range documents {
		o := yamlpos.Resolve(document)
		if o.Kind == yaml.DocumentNode && len(o.Content) > 0 {
			o = yamlpos.Resolve(o.Content[0])
		}
		if yamlpos.Text(o, "kind") != "ConfigMap" {
			continue
		}
		name := yamlpos.Text(o, "metadata", "name")
		for key, value := range yamlpos.Fields(yamlpos.Value(o, "data")) {
			at.Line = key.Line
			all = append(all, ConfigValue{Key: key.Value, Value: value.Value, ConfigMap: name, Position: at})
		}
	}
	return all
}
