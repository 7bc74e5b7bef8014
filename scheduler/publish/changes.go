package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Digest identifies a set of changes: two plans with the same digest do the
// same to the files.
func Digest(changes []plan.Change) string {
	sorted := slices.SortedFunc(slices.Values(changes), func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, c := range sorted {
		fmt.Fprintf(h, "%s %q %d\n", c.Action, c.Path, len(c.Content))
		h.Write(c.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// applied returns files with changes made.
func applied(files map[string][]byte, changes []plan.Change) map[string][]byte {
	after := maps.Clone(files)
	if after == nil {
		after = map[string][]byte{}
	}
	for _, c := range changes {
		if c.Action == plan.Remove {
			delete(after, c.Path)
		} else {
			after[c.Path] = c.Content
		}
	}
	return after
}

// fileContent is a change's content as a commit wants it: nil only for a
// removal, so that an empty file stays one.
func fileContent(c plan.Change) []byte {
	switch {
	case c.Action == plan.Remove:
		return nil
	case c.Content == nil:
		return []byte{}
	}
	return c.Content
}

func sameFiles(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}
