package arc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// TestRateLimits: limits are waited for, and the report names them.
func TestRateLimits(t *testing.T) {
	variables(t, login...)
	synctest.Test(t, func(t *testing.T) {
		s := newAzure(t, 2)
		var waits []arc.Wait
		c := connect(t, s, func(set *arc.Settings) { set.Report = func(w arc.Wait) { waits = append(waits, w) } })
		observe := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			_, err := c.Observe(ctx, source)
			return time.Since(began).Round(time.Second), err
		}
		for header, want := range map[string]time.Duration{
			"Retry-After: 7": 7 * time.Second, "Retry-After-Ms: 3000": 3 * time.Second, "x-ms-user-quota-resets-after: 00:01:04": 64 * time.Second, "Other: x": 5 * time.Second,
		} {
			waits = nil
			name, value, _ := strings.Cut(header, ": ")
			s.Fail(throttled(name, value))
			if took, err := observe(t.Context()); err != nil || took != want {
				t.Errorf("%s: %s, %v", header, took, err)
			}
			if len(waits) != 1 || !strings.Contains(waits[0].Reason, "Resource Graph queries (TooManyRequests)") || !strings.HasPrefix(waits[0].Request, "POST /providers/Microsoft.ResourceGraph") {
				t.Errorf("%s: reported %+v", header, waits)
			}
		}
		// a limit that lasts longer than the caller has time is an error at once,
		// and nothing more is sent
		s.Fail(throttled("Retry-After", "600"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.Calls()
		for range 3 {
			var limit *arc.LimitError
			if took, err := observe(ctx); !errors.As(err, &limit) || took != 0 || time.Until(limit.Until) < 9*time.Minute {
				t.Errorf("%s, %v", took, err)
			}
		}
		if calls := s.Calls(); len(calls) != 1 {
			t.Errorf("%d requests against a limit that was known", len(calls))
		}
		// with more time the next request waits for it
		if took, err := observe(t.Context()); err != nil || took != 10*time.Minute {
			t.Errorf("%s, %v", took, err)
		}
	})
}
