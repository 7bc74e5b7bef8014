package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// looks are the colours and texts of the labels that the scheduler makes.
var looks = map[string]sdk.Label{
	forge.LabelPromoted:   {Color: new("0e8a16"), Description: new("Promotes a commit of the control plane")},
	forge.LabelMassDelete: {Color: new("b60205"), Description: new("Removes most assignments: take this label off to release the pull request")},
}

// labels are those that a repository is known to have.
type labels struct {
	mu    sync.Mutex
	known map[string]bool // by repository and name
}

func (l *labels) knows(repo, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[repo+"\x00"+strings.ToLower(name)]
}

func (l *labels) learn(repo, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[repo+"\x00"+strings.ToLower(name)] = true
}

// defineLabels makes those of the labels that the repository does not have.
// GitHub would make them itself, in grey and without a word.
func (f *Forge) defineLabels(ctx context.Context, repo string, names []string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	for _, label := range names {
		if f.labels.knows(repo, label) {
			continue
		}
		err := f.call(ctx, func() (*sdk.Response, error) {
			_, r, err := f.client.Issues.GetLabel(ctx, owner, name, label)
			return r, err
		})
		if errors.Is(err, forge.ErrNotFound) {
			look := looks[label]
			look.Name = &label
			if look.Color == nil {
				look.Color = new("ededed")
			}
			err = f.call(ctx, func() (*sdk.Response, error) {
				_, r, err := f.client.Issues.CreateLabel(ctx, owner, name, &look)
				return r, err
			})
			if refusedAs(err, http.StatusUnprocessableEntity, "already exists") {
				err = nil // somebody else was faster
			}
		}
		if err != nil {
			return fmt.Errorf("label %s: %w", label, err)
		}
		f.labels.learn(repo, label)
	}
	return nil
}

// addLabels adds labels and notes on p what it has then.
func (f *Forge) addLabels(ctx context.Context, repo string, p *sdk.PullRequest, names []string) error {
	owner, name, err := split(repo)
	if err != nil || len(names) == 0 {
		return err
	}
	err = f.call(ctx, func() (*sdk.Response, error) {
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

// removeLabels takes the scheduler's labels off that are not wanted. One that
// is off already is no error.
func (f *Forge) removeLabels(ctx context.Context, repo string, p *sdk.PullRequest, wanted []string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	for _, label := range names(p.Labels) {
		if slices.Contains(wanted, label) || !slices.Contains(forge.ManagedLabels(), label) {
			continue
		}
		err := f.call(ctx, func() (*sdk.Response, error) {
			return f.client.Issues.RemoveLabelForIssue(ctx, owner, name, p.GetNumber(), label)
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return fmt.Errorf("taking off label %s: %w", label, err)
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(l *sdk.Label) bool { return forge.LabelName(l.GetName()) == label })
	}
	return nil
}

// names returns the labels' names, sorted; nil when there are none.
func names(list []*sdk.Label) (all []string) {
	for _, l := range list {
		all = append(all, forge.LabelName(l.GetName()))
	}
	slices.Sort(all)
	return all
}

// missing returns the wanted labels that are not there.
func missing(wanted []string, there []*sdk.Label) (list []string) {
	for _, w := range wanted {
		if !slices.ContainsFunc(there, func(l *sdk.Label) bool { return forge.LabelName(l.GetName()) == w }) {
			list = append(list, w)
		}
	}
	return list
}
