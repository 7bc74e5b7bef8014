package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// labelStyles are the colours and texts of the labels that the scheduler makes.
var labelStyles = map[string]sdk.Label{
	forge.LabelPromoted:   {Color: new("0e8a16"), Description: new("Promotes a commit of the control plane")},
	forge.LabelMassDelete: {Color: new("b60205"), Description: new("Removes most assignments: take this label off to release the pull request")},
}

// defineLabels makes those of the labels that the repository does not have.
// GitHub would make them itself, in grey and without a description.
func (f *Forge) defineLabels(ctx context.Context, repo string, names []string) error {
	for _, label := range names {
		key := repo + "\x00" + strings.ToLower(label)
		if _, known := f.labels.Load(key); known {
			continue
		}
		err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
			_, r, err := f.client.Issues.GetLabel(ctx, owner, name, label)
			return r, err
		})
		if errors.Is(err, forge.ErrNotFound) {
			style := labelStyles[label]
			style.Name = &label
			if style.Color == nil {
				style.Color = new("ededed")
			}
			err = f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
				_, r, err := f.client.Issues.CreateLabel(ctx, owner, name, &style)
				return r, err
			})
			if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
				err = nil // another client was faster
			}
		}
		if err != nil {
			return fmt.Errorf("label %s: %w", label, err)
		}
		f.labels.Store(key, true)
	}
	return nil
}

// addLabels adds labels and puts into p all that it has then.
func (f *Forge) addLabels(ctx context.Context, repo string, p *sdk.PullRequest, names []string) error {
	if len(names) == 0 {
		return nil
	}
	err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
		all, r, err := f.client.Issues.AddLabelsToIssue(ctx, owner, name, p.GetNumber(), names)
		if err == nil {
			p.Labels = all
		}
		return r, err
	})
	if err != nil {
		return fmt.Errorf("adding labels %s: %w", strings.Join(names, ", "), err)
	}
	return nil
}

// removeLabels removes the scheduler's labels that are not wanted. One that is
// gone already is no error.
func (f *Forge) removeLabels(ctx context.Context, repo string, p *sdk.PullRequest, wanted []string) error {
	for _, label := range labelNames(p.Labels) {
		if slices.Contains(wanted, label) || !slices.Contains(forge.ManagedLabels(), label) {
			continue
		}
		err := f.callRepo(ctx, repo, func(owner, name string) (*sdk.Response, error) {
			return f.client.Issues.RemoveLabelForIssue(ctx, owner, name, p.GetNumber(), label)
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return fmt.Errorf("removing label %s: %w", label, err)
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(l *sdk.Label) bool { return forge.LabelName(l.GetName()) == label })
	}
	return nil
}

// labelNames returns the labels' names, sorted; nil when there are none.
func labelNames(list []*sdk.Label) (all []string) {
	for _, l := range list {
		all = append(all, forge.LabelName(l.GetName()))
	}
	slices.Sort(all)
	return all
}

// missingLabels returns the wanted labels that a pull request does not have.
func missingLabels(wanted []string, present []*sdk.Label) (list []string) {
	have := labelNames(present)
	for _, w := range wanted {
		if !slices.Contains(have, w) {
			list = append(list, w)
		}
	}
	return list
}
