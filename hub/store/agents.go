package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// Report is what a cluster's agent has said last.
type Report struct {
	fleet.Cluster
	Received time.Time     // by the hub's clock
	Interval time.Duration // in which the next comes at the latest
}

// SaveReport keeps the newest report of a cluster, and is whether it says something new.
func (s *Store) SaveReport(ctx context.Context, r Report) (changed bool, err error) {
	content := encode(r.Cluster)
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(`UPDATE report SET received_at = ?, interval_ms = ? WHERE cluster = ? AND digest = ?`, millis(r.Received), r.Interval.Milliseconds(), r.Name, digest)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		changed = true
		return t.insert("report", "cluster, received_at, interval_ms, digest, content",
			`ON CONFLICT (cluster) DO UPDATE SET received_at = excluded.received_at, interval_ms = excluded.interval_ms, digest = excluded.digest, content = excluded.content`,
			[][]any{{r.Name, millis(r.Received), r.Interval.Milliseconds(), digest, content}})
	})
	return changed, err
}

// Reports reads the newest reports of all clusters again and again. It reads the content of those
// alone that have changed.
type Reports struct {
	store *Store
	known map[string]knownReport
}

type knownReport struct {
	digest string
	Report
}

// Reports returns a reader for one goroutine.
func (s *Store) Reports() *Reports { return &Reports{s, map[string]knownReport{}} }

// Read returns the newest report of each cluster, by its name.
func (r *Reports) Read(ctx context.Context) (map[string]Report, error) {
	now := map[string]knownReport{}
	err := r.store.read(ctx, func(t tx) error {
		var changed []string
		if err := t.each(func(rows *sql.Rows) error {
			var name, digest string
			var received, interval int64
			err := rows.Scan(&name, &digest, &received, &interval)
			one := knownReport{digest, Report{Received: timeOf(received), Interval: time.Duration(interval) * time.Millisecond}}
			if last, ok := r.known[name]; ok && last.digest == digest {
				one.Cluster = last.Cluster
			} else {
				changed = append(changed, name)
			}
			now[name] = one
			return err
		}, `SELECT cluster, digest, received_at, interval_ms FROM report`); err != nil {
			return err
		}
		for _, name := range changed {
			one := now[name]
			var content string
			if err := t.row(`SELECT content FROM report WHERE cluster = ?`, name).Scan(&content); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(content), &one.Cluster); err != nil {
				return fmt.Errorf("report of cluster %s: %w", name, err)
			}
			now[name] = one
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.known = now
	all := map[string]Report{}
	for name, one := range now {
		all[name] = one.Report
	}
	return all, nil
}

// ReportingClusters are the clusters that a token was made for, by name. Some may not have
// reported yet.
func (s *Store) ReportingClusters(ctx context.Context) ([]string, error) {
	var all []string
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			all = append(all, name)
			return err
		}, `SELECT DISTINCT cluster FROM api_token WHERE cluster <> '' AND (expires_at = 0 OR expires_at > ?) ORDER BY cluster`, millis(time.Now()))
	})
	return all, err
}
