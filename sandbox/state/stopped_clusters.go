package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// stoppedFile names the clusters that `kalypso stop` has stopped. It is part of
// the sandbox's data: a reset starts them, and a snapshot remembers them.
const stoppedFile = "clusters/away.json"

// StoppedClusters returns the clusters that are to stay stopped.
func (h Home) StoppedClusters() ([]string, error) {
	b, err := os.ReadFile(h.Path(stoppedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file, and all clusters come back", h.Path(stoppedFile), err)
	}
	return names, nil
}

// SetStopped notes that a cluster is to stay stopped, or is to run, and reports
// whether that is something new.
func (h Home) SetStopped(cluster string, stopped bool) (changed bool, err error) {
	names, err := h.StoppedClusters()
	if err != nil || slices.Contains(names, cluster) == stopped {
		return false, err
	}
	if stopped {
		names = append(names, cluster)
		slices.Sort(names)
	} else {
		names = slices.DeleteFunc(names, func(n string) bool { return n == cluster })
	}
	b, err := json.Marshal(names)
	if err != nil {
		return false, err
	}
	return true, WriteFile(h.Path(stoppedFile), append(b, '\n'))
}
