package cmdutil

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
)

// completionLimit bounds how long a shell waits for names that a sandbox or a
// server has to be asked for.
const completionLimit = 3 * time.Second

// Candidates returns the names that an argument or a flag may have.
type Candidates func(context.Context) ([]string, error)

// Known are candidates that need no question.
func Known(names ...string) Candidates {
	return func(context.Context) ([]string, error) { return names, nil }
}

// Complete completes a command's arguments: the first by the first list and so
// on. With repeat, the last list is for all that follow. What cannot be asked is
// completed by nothing.
func Complete(repeat bool, lists ...Candidates) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n := len(args)
		if repeat {
			n = min(n, len(lists)-1)
		}
		if n >= len(lists) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionLimit)
		defer cancel()
		names, err := lists[n](ctx)
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlag completes the values of a command's flag.
func CompleteFlag(c *cobra.Command, flag string, values Candidates) {
	complete := Complete(false, values)
	// the error would be about a flag that the command does not have
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return complete(c, nil, typed)
	})
}

// ClusterNames are the clusters of the sandbox.
func (a *App) ClusterNames(context.Context) ([]string, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	s, err := home.Load()
	if err != nil {
		return nil, err
	}
	return s.Names(), nil
}

// ComponentNames are the components of the running sandbox.
func (a *App) ComponentNames(ctx context.Context) ([]string, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	s, err := sandbox.GetStatus(ctx, home)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range s.Components {
		names = append(names, c.Name)
	}
	return names, nil
}

// quiet is an App whose messages nobody sees: they would be in the line that a user types.
func (a *App) quiet() *App {
	quiet := *a
	quiet.Err = io.Discard
	return &quiet
}

// environmentNames are those of the control plane that the flags lead to.
func (f *ModelFlags) environmentNames(a *App) Candidates {
	return func(ctx context.Context) ([]string, error) {
		w, err := f.Open(ctx, a.quiet())
		if err != nil {
			return nil, err
		}
		all, err := w.Environments(ctx)
		if err != nil {
			return nil, err
		}
		return all.Names(), nil
	}
}

// TargetNames are the deployment targets of the environments that the flags lead to.
func (f *ModelFlags) TargetNames(a *App) Candidates {
	return f.namesOf(a, func(p view.Plan) []string {
		var names []string
		for _, t := range p.Targets {
			names = append(names, t.Name)
		}
		return names
	})
}

// ClusterTypeNames are the cluster types of the environments that the flags lead to.
func (f *ModelFlags) ClusterTypeNames(a *App) Candidates {
	return f.namesOf(a, func(p view.Plan) []string {
		var names []string
		for _, c := range p.Model.ClusterTypes {
			names = append(names, c.Name)
		}
		return names
	})
}

func (f *ModelFlags) namesOf(a *App, of func(view.Plan) []string) Candidates {
	return func(ctx context.Context) ([]string, error) {
		w, err := f.Open(ctx, a.quiet())
		if err != nil {
			return nil, err
		}
		environments, err := f.Several(ctx, w)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, name := range environments {
			one, err := view.Load(ctx, w, name)
			if err != nil {
				return nil, err
			}
			names = append(names, of(one)...)
		}
		slices.Sort(names)
		return slices.Compact(names), nil
	}
}
