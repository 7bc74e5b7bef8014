package arc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/atomicfile"
)

// lastSeen is what each cluster looked like when it was asked last, so that one
// that is stopped is shown as it was.
type lastSeen struct {
	dir string

	mu   sync.Mutex
	last map[string]snapshot
}

type snapshot struct {
	Seen           time.Time              `json:"seen"`
	Configurations []armapi.Configuration `json:"configurations"`
}

func newLastSeen(dir string) *lastSeen { return &lastSeen{dir: dir, last: map[string]snapshot{}} }

// keep stores a cluster's configurations, on disk only when something but
// the time has changed.
func (m *lastSeen) keep(cluster string, seen time.Time, all []armapi.Configuration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.last[cluster]
	now := snapshot{seen, all}
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
	return atomicfile.Write(m.file(cluster), b, 0o600)
}

// recall returns what is known; false when the cluster was never seen.
func (m *lastSeen) recall(cluster string) (snapshot, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.last[cluster]; ok {
		return k, true
	}
	if m.dir == "" {
		return snapshot{}, false
	}
	b, err := os.ReadFile(m.file(cluster))
	var k snapshot
	if err != nil || json.Unmarshal(b, &k) != nil {
		// counts as never seen; the next request replaces it
		return snapshot{}, false
	}
	m.last[cluster] = k
	return k, true
}

func (m *lastSeen) time(cluster string) *time.Time {
	if k, ok := m.recall(cluster); ok {
		return &k.Seen
	}
	return nil
}

func (m *lastSeen) file(cluster string) string { return filepath.Join(m.dir, cluster+".json") }

func timeless(all []armapi.Configuration) []armapi.Configuration {
	all = slices.Clone(all)
	for i := range all {
		all[i].Properties.StatusUpdatedAt = nil
	}
	return all
}
