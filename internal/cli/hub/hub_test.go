package hub

import (
	"testing"

	"github.com/kalypso-dev/kalypso/hub"
)

// The help's configuration is one.
func TestConfiguration(t *testing.T) {
	if _, err := hub.ParseConfig("hub.yaml", []byte(configuration)); err != nil {
		t.Error(err)
	}
}
