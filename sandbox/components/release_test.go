package components_test

import (
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// TestRelease drops pages that are used again at once.
func TestRelease(t *testing.T) {
	const text = "a constant lies in the pages that are dropped"
	for range 3 {
		components.Release()
		if text[2:10] != "constant" {
			t.Fatal("the program's own data has changed")
		}
	}
}
