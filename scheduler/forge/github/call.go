package github

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/google/go-github/v88/github"
)

// call makes a request through the SDK and words its failure.
func (f *Forge) call(ctx context.Context, do func() (*sdk.Response, error)) error {
	_, err := do()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(*LimitError)) {
		return fmt.Errorf("%w while waiting for %s", cause, f.api.Host)
	}
	return failure(err)
}

// me returns the name of the account.
func (f *Forge) me(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.user != "" {
		return f.user, nil
	}
	name, err := f.account.name(ctx, f)
	if err != nil {
		return "", fmt.Errorf("account of the %s: %w", f.account.kind(), err)
	}
	f.user = name
	return name, nil
}

// pages calls get for every page until there is none, or get says stop.
func (f *Forge) pages(ctx context.Context, get func(options sdk.ListOptions) (response *sdk.Response, stop bool, err error)) error {
	for page := 1; ; {
		var stop bool
		var next int
		err := f.call(ctx, func() (*sdk.Response, error) {
			response, done, err := get(sdk.ListOptions{Page: page, PerPage: pageSize})
			if response != nil {
				next = response.NextPage
			}
			stop = done
			return response, err
		})
		if err != nil || stop || next <= page {
			return err
		}
		page = next
	}
}
