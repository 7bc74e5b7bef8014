// Package workshoptest loads the workshops that come with kalypso, for tests.
package workshoptest

import (
	"testing"

	"github.com/kalypso-dev/kalypso/workshop"
)

// Load returns a workshop whose repositories are below orgURL.
func Load(t testing.TB, name, orgURL string) *workshop.Workshop {
	t.Helper()
	w, err := workshop.OpenBuiltin(name)
	if err == nil {
		w, err = w.Load(workshop.On(orgURL))
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}
