package arc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// memory is what each cluster looked like when it was asked last, so that one
// that is away is shown as it was. What it shows is never newer than the last
// request about the cluster.
type memory struct {
	dir string

	mu   sync.Mutex
	last map[string]memo
}

type memo struct {
	Seen           time.Time           `json:"seen"`
	Configurations []arc.Configuration `json:"configurations"`
}

func newMemory(dir string) *memory { return &memory{dir: dir, last: map[string]memo{}} }

// keep remembers a cluster's configurations, on disk only when something but
// the time has changed.
func (m *memory) keep(cluster string, seen time.Time, all []arc.Configuration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.last[cluster]
	now := memo{seen, all}
	m.last[cluster] = now
	if m.dir == "" || known && reflect.DeepEqual(timeless(before.Configurations), timeless(all)) {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	temporary := m.file(cluster) + ".new"
	if err := os.WriteFile(temporary, b, 0o600); err != nil {
		return fmt.Errorf("remember cluster %s: %w", cluster, err)
	}
	return os.Rename(temporary, m.file(cluster))
}

// recall returns what is known; false when the cluster was never seen.
func (m *memory) recall(cluster string) (memo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.last[cluster]; ok {
		return k, true
	}
	if m.dir == "" {
		return memo{}, false
	}
	b, err := os.ReadFile(m.file(cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return memo{}, false
	}
	var k memo
	if err != nil || json.Unmarshal(b, &k) != nil {
		// as good as never seen; the next look replaces it
		return memo{}, false
	}
	m.last[cluster] = k
	return k, true
}

func (m *memory) seen(cluster string) *time.Time {
	if k, ok := m.recall(cluster); ok {
		return &k.Seen
	}
	return nil
}

func (m *memory) file(cluster string) string { return filepath.Join(m.dir, cluster+".json") }

func timeless(all []arc.Configuration) []arc.Configuration {
	all = slices.Clone(all)
	for i := range all {
		all[i].Properties.StatusUpdatedAt = nil
	}
	return all
}
