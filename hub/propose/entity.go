package propose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Entity is an object of an environment's platform model as its file has it.
type Entity struct {
	Environment string         `json:"environment"`
	Kind        string         `json:"kind" doc:"As objects have it: ClusterType."`
	Name        string         `json:"name"`
	Repository  string         `json:"repository" doc:"URL."`
	Branch      string         `json:"branch"`
	Head        string         `json:"head" doc:"The commit of the branch that it was read at, for If-Match."`
	File        string         `json:"file"`
	Line        int            `json:"line"`
	YAML        string         `json:"yaml" doc:"Its document in the file, with comments."`
	Object      map[string]any `json:"object"`
	Schema      Schema         `json:"schema"`
}

// Kinds are the kinds that have a place in an environment.
func Kinds() []edit.Kind {
	return slices.DeleteFunc(edit.Kinds(), func(k edit.Kind) bool { return k.Plural == "environments" })
}

// Entity is an object of a kind and name, on the environment's branch or else in a base
// repository; with current the forge is asked for the head of the environment's. The error is an
// [*edit.Error] where there is none.
func (p *Planner) Entity(ctx context.Context, environment string, kind edit.Kind, name string, current bool) (Entity, error) {
	e, err := p.platform.Environment(ctx, environment, current)
	if err != nil {
		return Entity{}, err
	}
	own, err := e.tree(ctx, e.ControlPlane, "")
	if err != nil {
		return Entity{}, err
	}
	found, err := edit.Find(own, e.ControlPlane.Path, kind.Name, name)
	tree := own
	if isMissing(err) {
		for _, base := range model.LoadBases(own, e.ControlPlane.Path) {
			at := model.Reference{Repo: base.Spec.Repo, Branch: base.Spec.Branch, Path: base.Spec.Path}
			shared, failed := e.tree(ctx, at, "")
			if errors.Is(failed, model.ErrNotFound) {
				continue
			}
			if failed != nil {
				return Entity{}, failed
			}
			if found, failed = edit.Find(shared, at.Path, kind.Name, name); !isMissing(failed) {
				tree, err = shared, failed
				break
			}
		}
	}
	if err != nil {
		return Entity{}, err
	}
	return Entity{
		Environment: environment, Kind: kind.Name, Name: name, Repository: redact.URL(tree.Repo), Branch: tree.Branch, Head: tree.Commit,
		File: found.Position.File, Line: found.Position.Line, YAML: found.Text, Object: found.Fields, Schema: SchemaOf(kind.Name),
	}, nil
}

// Put is the edit that makes an object as a JSON or YAML document says.
func Put(kind edit.Kind, name string, document []byte) (edit.Edit, error) {
	text := document
	if json.Valid(document) {
		var err error
		if text, err = yaml.JSONToYAML(document); err != nil {
			return edit.Edit{}, err
		}
	}
	return edit.Edit{Operation: edit.PutObject, Kind: kind.Name, Name: name, Content: string(text)}, nil
}

// Patch is the edit that makes an object as a JSON merge patch of it says.
func Patch(kind edit.Kind, e Entity, patch []byte) (edit.Edit, error) {
	now, err := json.Marshal(e.Object)
	if err != nil {
		return edit.Edit{}, fmt.Errorf("%s %s cannot be written as JSON: %w", e.Kind, e.Name, err)
	}
	wanted, err := jsonpatch.MergePatch(now, patch)
	if err != nil {
		return edit.Edit{}, fmt.Errorf("the merge patch: %w", err)
	}
	return Put(kind, e.Name, wanted)
}
