package auth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// minClusterToken is how long a token of the file is at least, in characters.
const minClusterToken = 32

// ClusterTokens are the tokens of agents in a file: on each line the name of a cluster and its
// token, with spaces between. Lines that begin with # are comments. A cluster may have several, as
// while one is replaced. What is written to the file holds from then on.
type ClusterTokens struct {
	file string

	mu       sync.Mutex
	modified time.Time
	size     int64
	clusters map[[sha256.Size]byte]string
}

// ReadClusterTokens reads the file. Errors begin with its name and the line.
func ReadClusterTokens(file string) (*ClusterTokens, error) {
	t := &ClusterTokens{file: file}
	return t, t.refresh()
}

// refresh reads the file if it has changed.
func (t *ClusterTokens) refresh() error {
	info, err := os.Stat(t.file)
	if err != nil {
		return fmt.Errorf("tokens of clusters: %w", err)
	}
	if t.clusters != nil && info.ModTime().Equal(t.modified) && info.Size() == t.size {
		return nil
	}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return fmt.Errorf("tokens of clusters: %w", err)
	}
	clusters, err := parseClusterTokens(t.file, data)
	if err != nil {
		return err
	}
	t.clusters, t.modified, t.size = clusters, info.ModTime(), info.Size()
	return nil
}

func parseClusterTokens(file string, data []byte) (map[[sha256.Size]byte]string, error) {
	all := map[[sha256.Size]byte]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0, strings.HasPrefix(fields[0], "#"):
			continue
		case len(fields) != 2: // without the line's text, which may be a token
			return nil, fmt.Errorf("%s:%d: a line is the name of a cluster and its token, with a space between", file, n)
		case len(fields[1]) < minClusterToken:
			return nil, fmt.Errorf("%s:%d: the token of cluster %s is shorter than %d characters: make one with `openssl rand -hex 32`", file, n, fields[0], minClusterToken)
		}
		digest := sha256.Sum256([]byte(fields[1]))
		if other, ok := all[digest]; ok && other != fields[0] {
			return nil, fmt.Errorf("%s:%d: cluster %s has the token of cluster %s: give each its own", file, n, fields[0], other)
		}
		all[digest] = fields[0]
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// Cluster is whose token a secret is, false where it is none of the file. A file that cannot be
// read any more leaves the tokens as they were.
func (t *ClusterTokens) Cluster(secret string) (string, bool) {
	if t == nil {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.refresh()
	name, ok := t.clusters[sha256.Sum256([]byte(secret))]
	return name, ok
}

// Clusters are all that have a token, by name.
func (t *ClusterTokens) Clusters() []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.refresh()
	return slices.Compact(slices.Sorted(maps.Values(t.clusters)))
}
