package forgefake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// PullRequests implements forge.Forge.
func (f *Forge) PullRequests(ctx context.Context, repo, head, base string) (list []forge.PullRequest, err error) {
	err = f.call(ctx, Call{Method: "PullRequests", Repo: repo, Detail: head}, func() error {
		r, err := f.repo(repo)
		if err != nil {
			return err
		}
		for _, p := range slices.Backward(r.pulls) {
			if p.Head == head && p.Base == base {
				list = append(list, clone(p))
			}
		}
		return nil
	})
	return list, err
}

func clone(p *forge.PullRequest) forge.PullRequest {
	c := *p
	c.Labels = slices.Clone(p.Labels)
	return c
}

// SavePullRequest implements forge.Forge.
func (f *Forge) SavePullRequest(ctx context.Context, repo string, pr forge.PullRequest) (saved forge.PullRequest, err error) {
	err = f.call(ctx, Call{"SavePullRequest", repo, pr.Title, true}, func() error {
		r, err := f.repo(repo)
		if err := errors.Join(err, fits(pr.Title, pr.Body)); err != nil {
			return err
		}
		if pr.Number == 0 {
			if f.amid {
				pr.Labels = nil
			}
			refused := f.refusal(pr, false)
			if refused != nil && !f.noDraftSaved {
				return refused
			}
			pr.Draft = pr.Draft && refused == nil
			p, err := r.open(repo, pr, Account)
			if err == nil {
				saved = clone(p)
			}
			return errors.Join(err, refused)
		}
		p, err := r.pull(pr.Number)
		if err != nil {
			return err
		}
		if p.State == forge.Merged {
			return fmt.Errorf("pull request %d is merged", pr.Number)
		}
		refused := f.refusal(pr, p.Draft)
		p.Title, p.Body, p.Draft, p.State = pr.Title, pr.Body, pr.Draft && refused == nil, pr.State
		for _, l := range forge.ManagedLabels() {
			if f.amid {
				break
			}
			p.Labels = slices.DeleteFunc(p.Labels, func(have string) bool { return have == l })
		}
		p.Labels = merge(p.Labels, pr.Labels)
		saved = clone(p)
		return refused
	})
	return saved, err
}

// refusal returns the error where a pull request becomes a draft and must not.
func (f *Forge) refusal(pr forge.PullRequest, draft bool) error {
	if pr.Draft && !draft && pr.State == forge.Open {
		return f.noDraft
	}
	return nil
}

func merge(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *repository) open(repo string, pr forge.PullRequest, author string) (*forge.PullRequest, error) {
	head, ok := r.branches[pr.Head]
	if !ok {
		return nil, fmt.Errorf("branch %s: %w", pr.Head, forge.ErrNotFound)
	}
	if _, ok := r.branches[pr.Base]; !ok {
		return nil, fmt.Errorf("branch %s: %w", pr.Base, forge.ErrNotFound)
	}
	for _, p := range r.pulls {
		if p.State == forge.Open && p.Head == pr.Head && p.Base == pr.Base {
			return nil, fmt.Errorf("pull request %d from %s to %s exists", p.Number, pr.Head, pr.Base)
		}
	}
	r.number++
	p := pr
	p.Number, p.State, p.HeadCommit = r.number, forge.Open, head
	p.Author, p.Own = author, author == Account
	p.Created, p.Merged, p.MergedBy = now(), time.Time{}, ""
	p.Labels = merge(nil, pr.Labels)
	p.URL = fmt.Sprintf("%s%s/pulls/%d", baseURL, repo, p.Number)
	r.pulls = append(r.pulls, &p)
	return &p, nil
}

// now is the forge's clock, in seconds as those of real forges.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func (r *repository) pull(number int) (*forge.PullRequest, error) {
	for _, p := range r.pulls {
		if p.Number == number {
			return p, nil
		}
	}
	return nil, fmt.Errorf("pull request %d: %w", number, forge.ErrNotFound)
}
