package driver

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// maxMarks is of how many commits it is remembered what they hold.
const maxMarks = 10_000

// marked is what a commit of a wave's branch says of itself.
type marked struct {
	rollout.Wave
	own bool // the scheduler has made it
}

// marks reads what commits of waves' branches say of themselves, each once.
type marks struct {
	reader model.Reader
	known  *lru.Cache[string, marked] // by repository and commit
}

func newMarks(r model.Reader) *marks {
	known, _ := lru.New[string, marked](maxMarks) // the only error is about a number below one
	return &marks{r, known}
}

// of is what a commit says: nothing, where a user has made it and taken the file away.
func (m *marks) of(ctx context.Context, repo, branch, commit string) (marked, error) {
	key := repo + " " + commit
	if known, ok := m.known.Get(key); ok {
		return known, nil
	}
	tree, err := m.reader.Read(ctx, model.Reference{Repo: repo, Branch: branch, Commit: commit})
	if err != nil {
		return marked{}, err
	}
	mark := marked{own: tree.Own}
	if content := tree.Files[rollout.WaveFile]; content != nil {
		if mark.Wave, err = rollout.ParseWave(content); err != nil {
			mark = marked{}
		}
	}
	m.known.Add(key, mark)
	return mark, nil
}
