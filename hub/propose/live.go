package propose

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Live is the platform as the forge has it at the moment, for commands.
type Live struct {
	Forge  controller.Repositories
	Planes []controller.ControlPlaneConfig
}

var _ Platform = Live{}

// Names are the environments of all control planes, in their order.
func (l Live) Names(ctx context.Context) ([]string, error) {
	var all []string
	for _, p := range l.Planes {
		objects, err := l.objects(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			all = append(all, o.Name)
		}
	}
	return all, nil
}

func (l Live) objects(ctx context.Context, p controller.ControlPlaneConfig) ([]model.EnvironmentObject, error) {
	tree, err := l.Forge.Read(ctx, model.Reference{Repo: p.Repo, Branch: cmp.Or(p.Branch, "main")})
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	objects, _ := model.LoadEnvironments(tree, p.Path)
	return objects, nil
}

// Environment implements Platform. All of it is current.
func (l Live) Environment(ctx context.Context, name string, _ bool) (Environment, error) {
	var others []string
	for _, p := range l.Planes {
		objects, err := l.objects(ctx, p)
		if err != nil {
			return Environment{}, err
		}
		var names []string
		for _, o := range objects {
			names = append(names, o.Name)
		}
		for _, o := range objects {
			if o.Name != name {
				continue
			}
			at := o.Spec.ControlPlane
			e := Environment{Name: name, Names: names, ControlPlane: model.Reference{Repo: at.Repo, Branch: at.Branch, Path: at.Path}, Reader: &once{Reader: l.Forge, trees: map[model.Reference]*model.Tree{}}}
			tree, err := e.tree(ctx, e.ControlPlane, "")
			if err != nil {
				return e, fmt.Errorf("environment %s: %w", name, err)
			}
			e.Head = tree.Commit
			return e, nil
		}
		others = append(others, names...)
	}
	message := fmt.Sprintf("there is no environment %s", name)
	if hint := model.Suggest(name, others, ""); hint != "" {
		message += ": " + hint
	}
	return Environment{}, fmt.Errorf("%s: %w", message, store.ErrNotFound)
}

// Ahead implements Platform.
func (l Live) Ahead(ctx context.Context, branch model.Reference, head, commit string) int {
	return Ahead(ctx, l.Forge, branch, head, commit)
}

// once reads each thing once, so that two looks at it see the same.
type once struct {
	model.Reader
	mu    sync.Mutex // for trees
	trees map[model.Reference]*model.Tree
}

// Read implements model.Reader.
func (o *once) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	ref.Path = ""
	o.mu.Lock()
	tree := o.trees[ref]
	o.mu.Unlock()
	if tree != nil {
		return tree, nil
	}
	tree, err := o.Reader.Read(ctx, ref)
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.trees[ref] = tree
	}
	return tree, err
}
