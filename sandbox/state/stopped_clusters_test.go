package state

import (
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/files"
)

func TestBrokenListOfStoppedClusters(t *testing.T) {
	h := Home(t.TempDir())
	files.Fill(t, string(h), map[string]string{stoppedFile: "["})
	if _, err := h.StoppedClusters(); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Error(err)
	}
	if err := os.Remove(h.Path(stoppedFile)); err != nil {
		t.Fatal(err)
	}
	if stopped, err := h.StoppedClusters(); err != nil || stopped != nil {
		t.Errorf("%q, %v", stopped, err)
	}
}
