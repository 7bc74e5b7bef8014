package logs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

// TestFlags parses command lines without reading a log.
func TestFlags(t *testing.T) {
	for line, want := range map[string]Options{
		"gitea":                      {Component: "gitea"},
		"gitea -f -n 20":             {Component: "gitea", Follow: true},
		"--collect folder":           {Collect: "folder"},
		"gitea --lines -1":           {},
		"gitea --since 0s":           {},
		"--collect folder -f":        {},
		"--collect folder gitea":     {},
		"gitea scheduler":            {},
		"--collect folder --lines 1": {},
	} {
		var got *Options
		c := NewCommand(&cmdutil.App{}, func(_ context.Context, o *Options) error { got = o; return nil })
		c.SetArgs(strings.Fields(line))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		var mistake *usage.Error
		switch {
		case want == Options{}:
			if !errors.As(err, &mistake) || got != nil {
				t.Errorf("%s: %v", line, err)
			}
		case err != nil || got.Component != want.Component || got.Follow != want.Follow || got.Collect != want.Collect:
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestSince(t *testing.T) {
	var got *Options
	c := NewCommand(&cmdutil.App{}, func(_ context.Context, o *Options) error { got = o; return nil })
	c.SetArgs([]string{"gitea", "--since", "10m", "--lines", "0"})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(got.Query.Since); ago < 10*time.Minute || ago > 11*time.Minute || got.Query.Lines != 0 {
		t.Errorf("%s ago, %d lines", ago, got.Query.Lines)
	}
}
