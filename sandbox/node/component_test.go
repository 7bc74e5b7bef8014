package node

import (
	"errors"
	"os"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestNodeThatHasGivenUpFailsForGood(t *testing.T) {
	n := testNode()
	n.Dir = t.TempDir()
	n.Log = func(name string) string { return n.file(name + ".log") }
	c := newComponent(n)
	if err := c.Cause(); err != nil {
		t.Errorf("before anything has ended: %v", err)
	}
	const why = "coredns ended with exit code 1, 5 times in 3s"
	if err := os.WriteFile(n.file(spec.GivenUp), []byte(why), 0o600); err != nil {
		t.Fatal(err)
	}
	var permanent *supervisor.PermanentError
	if err := c.Cause(); !errors.As(err, &permanent) || err.Error() != why {
		t.Errorf("got %v, want what the node's first process has left", err)
	}
}
