package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	sdk "github.com/google/go-github/v88/github"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// files returns a listing's files, without links and submodules, with those
// contents that are kept of them. Equal files are fetched once, and those that
// are known not at all; many are fetched together.
func (f *Forge) files(ctx context.Context, repo string, l *listing) (map[string][]byte, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	sizes, matters := map[string]int{}, map[string]bool{} // by blob
	for path, e := range l.leaves {
		if e.isFile() {
			sizes[e.id] = e.size
			matters[e.id] = matters[e.id] || model.MayMatter(path)
		}
	}
	kept := model.NewKeeper[string]()
	for _, id := range slices.Sorted(maps.Keys(sizes)) {
		keep, err := kept.Admit(matters[id], int64(sizes[id]))
		if err != nil {
			return nil, err
		}
		if !keep {
			delete(sizes, id)
		}
	}
	if kept.WithoutOthers() {
		maps.DeleteFunc(sizes, func(id string, _ int) bool { return !matters[id] })
	}
	contents := make(map[string][]byte, len(sizes))
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(sizes)) {
		if content, ok := f.blobs.get(id); ok {
			contents[id] = content
		} else {
			unknown = append(unknown, id)
		}
	}
	if err := f.fetch(ctx, owner, name, unknown, sizes, contents); err != nil {
		return nil, err
	}
	for id, content := range contents {
		kept.Keep(id, matters[id], content)
	}
	files := make(map[string][]byte, len(l.leaves))
	for path, e := range l.leaves {
		if e.isFile() {
			files[path] = kept.Get(e.id, model.MayMatter(path))
		}
	}
	return files, nil
}

// fetch adds the contents of blobs to those that are there.
func (f *Forge) fetch(ctx context.Context, owner, name string, ids []string, sizes map[string]int, contents map[string][]byte) error {
	if len(ids) > 1 {
		for _, batch := range batches(ids, sizes) {
			err := f.prefetch(ctx, owner, name, batch)
			if err != nil && !errors.As(err, new(*Error)) {
				return err
			}
		}
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, id := range ids {
		group.Go(func() error {
			content, err := f.blob(ctx, owner, name, id)
			if err != nil {
				return fmt.Errorf("blob %s: %w", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			contents[id] = content
			return nil
		})
	}
	return group.Wait()
}

func (f *Forge) blob(ctx context.Context, owner, name, id string) (content []byte, err error) {
	if content, ok := f.blobs.get(id); ok {
		return content, nil
	}
	err = f.call(ctx, func() (r *sdk.Response, err error) {
		content, r, err = f.client.Git.GetBlobRaw(ctx, owner, name, id)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	if got := blobID(content); got != id {
		return nil, fmt.Errorf("GitHub's answer for blob %s is blob %s", id, got)
	}
	f.blobs.put(id, content)
	return content, nil
}
