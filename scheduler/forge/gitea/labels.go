package gitea

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// labelStyles are the colours and texts of the labels that the scheduler makes.
var labelStyles = map[string]sdk.CreateLabelOption{
	forge.LabelPromoted:   {Color: "#0e8a16", Description: "Promotes a commit of the control plane"},
	forge.LabelMassDelete: {Color: "#b60205", Description: "Removes most assignments: take this label off to release the pull request"},
}

// labelIDs returns the IDs of labels of a repository or its organisation, and
// makes those that are missing.
func (f *Forge) labelIDs(ctx context.Context, repo string, names []string) ([]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known, err := f.repoLabels(ctx, repo)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(names))
	for _, label := range names {
		id, ok := known[strings.ToLower(label)]
		if !ok && !slices.Contains(forge.ManagedLabels(), label) {
			continue // a user's, from elsewhere: it is on the pull request already, or gone
		}
		if !ok {
			if id, err = f.createLabel(ctx, repo, label, labelStyles[label]); err != nil {
				return nil, err
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (f *Forge) createLabel(ctx context.Context, repo, label string, option sdk.CreateLabelOption) (id int64, err error) {
	option.Name = label
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		l, r, err := c.CreateLabel(owner, name, option)
		if err == nil {
			id = l.ID
		}
		return r, err
	})
	if err != nil {
		return 0, fmt.Errorf("label %s of %s: %w", label, repo, err)
	}
	return id, nil
}

// Label adds labels to a pull request and makes those that the repository does
// not have.
func (f *Forge) Label(ctx context.Context, repo string, number int, labels []string) error {
	known, err := f.repoLabels(ctx, repo)
	if err != nil {
		return err
	}
	var ids []int64
	for _, label := range labels {
		id, ok := known[strings.ToLower(label)]
		if !ok {
			if id, err = f.createLabel(ctx, repo, label, sdk.CreateLabelOption{Color: "#1d76db"}); err != nil {
				return err
			}
		}
		ids = append(ids, id)
	}
	return f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		_, r, err := c.AddIssueLabels(owner, name, int64(number), sdk.IssueLabelsOption{Labels: ids})
		return r, err
	})
}

// repoLabels returns the IDs of a repository's labels by name in lower case.
func (f *Forge) repoLabels(ctx context.Context, repo string) (map[string]int64, error) {
	known := map[string]int64{}
	err := f.pages(ctx, repo, func(c *sdk.Client, owner, name string, page sdk.ListOptions) (*sdk.Response, bool, error) {
		list, r, err := c.ListRepoLabels(owner, name, sdk.ListLabelsOptions{ListOptions: page})
		for _, l := range list {
			known[strings.ToLower(l.Name)] = l.ID
		}
		return r, false, err
	})
	if err != nil {
		return nil, fmt.Errorf("labels of %s: %w", repo, err)
	}
	return known, nil
}

// relabel adds the labels that are missing, runs edit, and then removes the
// scheduler's labels that are not wanted. The order matters to a hold: its
// label is there before the text that speaks of it, and goes after it, so that
// an interruption never looks like a user's release. It reports whether any
// label was added or removed.
func (f *Forge) relabel(ctx context.Context, repo string, number int64, names []string, edit func() error) (changed bool, err error) {
	var present []*sdk.Label
	err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
		present, r, err = c.GetIssueLabels(owner, name, number, sdk.ListLabelsOptions{})
		return r, err
	})
	if err != nil {
		return false, fmt.Errorf("labels: %w", err)
	}
	missing, err := f.labelIDs(ctx, repo, slices.DeleteFunc(slices.Clone(names), func(want string) bool {
		return slices.ContainsFunc(present, func(l *sdk.Label) bool { return forge.LabelName(l.Name) == want })
	}))
	if err != nil {
		return false, err
	}
	if len(missing) > 0 {
		changed = true
		err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
			_, r, err := c.AddIssueLabels(owner, name, number, sdk.IssueLabelsOption{Labels: missing})
			return r, err
		})
		if err != nil {
			return changed, fmt.Errorf("adding labels: %w", err)
		}
	}
	if err := edit(); err != nil {
		return changed, err
	}
	for _, l := range present {
		if name := forge.LabelName(l.Name); slices.Contains(names, name) || !slices.Contains(forge.ManagedLabels(), name) {
			continue
		}
		changed = true
		err := f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
			return c.DeleteIssueLabel(owner, name, number, l.ID)
		})
		if err != nil {
			return changed, fmt.Errorf("removing label %s: %w", l.Name, err)
		}
	}
	return changed, nil
}
