package snapshot

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestSnapshotNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "before-promotion": true, "2": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "a b": false, "..": false, "a/b": false, "-a": false, "a-": false, ".x": false, "ä": false, strings.Repeat("a", 64): false,
	} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestHalfASnapshotIsNeverListed(t *testing.T) {
	h := state.Home(t.TempDir())
	s, err := h.Ensure(t.Context(), state.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	files.Fill(t, string(h), map[string]string{"gitea/db": "one"})
	thawed := 0
	cannot := errors.New("process 7 still runs")
	for what, freeze := range map[string]Freezer{
		"freezing": func(context.Context) (func() error, error) { return nil, cannot },
		"thawing": func(context.Context) (func() error, error) {
			return func() error { thawed++; return cannot }, nil
		},
	} {
		if _, err := Save(t.Context(), h, s, "a", "v1", freeze); !errors.Is(err, cannot) || !strings.Contains(err.Error(), "save snapshot a: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Save(ctx, h, s, "a", "v1", func(context.Context) (func() error, error) {
		cancel()
		return func() error { thawed++; return nil }, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if thawed < 2 {
		t.Errorf("thawed %d times", thawed)
	}
	if all, err := List(h); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if left, err := os.ReadDir(h.Path("aside")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
