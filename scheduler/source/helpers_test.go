package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// mustFail wants an error that says all of that.
func mustFail(t *testing.T, err error, says ...string) {
	t.Helper()
	for _, s := range says {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("error %v, want one that says %q", err, s)
		}
	}
}

// mustHint wants an error that says what to do, in all of these words.
func mustHint(t *testing.T, err error, says ...string) {
	t.Helper()
	var e *source.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("no hint with %v", err)
		return
	}
	for _, s := range says {
		if !strings.Contains(e.Hint, s) {
			t.Errorf("hint %q does not say %q", e.Hint, s)
		}
	}
}
