package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// awayFile names the clusters that have been stopped. It is part of the
// world's data: reset brings them back, and a snapshot remembers them.
const awayFile = "clusters/away.json"

// away returns the clusters that are to stay away.
func (h Home) away() ([]string, error) {
	b, err := os.ReadFile(h.Path(awayFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file, and all clusters come back", h.Path(awayFile), err)
	}
	return names, nil
}

// setAway notes that a cluster is to stay away, or is to come back. It tells
// whether that is something new.
func (h Home) setAway(cluster string, away bool) (changed bool, err error) {
	names, err := h.away()
	if err != nil || slices.Contains(names, cluster) == away {
		return false, err
	}
	if away {
		names = append(names, cluster)
		slices.Sort(names)
	} else {
		names = slices.DeleteFunc(names, func(n string) bool { return n == cluster })
	}
	b, err := json.Marshal(names)
	if err != nil {
		return false, err
	}
	return true, writeFile(h.Path(awayFile), append(b, '\n'), 0o600)
}

// awayReason is what the status of a stopped cluster's components says.
func awayReason(cluster string) string {
	return fmt.Sprintf("stopped by `kalypso stop %s`; `kalypso start %s` brings it back", cluster, cluster)
}

// checkCluster is a *UsageError for a cluster that the workshop has not.
func checkCluster(state *State, cluster string) error {
	w, err := findWorkshop(state.Workshop)
	if err != nil {
		return err
	}
	names := w.clusterNames()
	if slices.Contains(names, cluster) {
		return nil
	}
	if cluster == "" {
		return &UsageError{"which cluster? Choose one of " + strings.Join(names, ", ")}
	}
	return unknown("cluster", cluster, names)
}
