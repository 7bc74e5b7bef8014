package supervisor

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestStatusReportsHowAProcessEnded(t *testing.T) {
	silent := func(context.Context) error { return errors.New("no answer") }
	for _, c := range []struct {
		script string
		check  func(context.Context) error
		want   string
	}{
		{"kill -9 $$", nil, "ended by signal killed"},
		{"exit 3", nil, "ended with exit code 3"},
		{"exit 0", nil, "ended by itself"},
		{"exit 3", silent, "ended with exit code 3 before it was ready: no answer"},
		{"exit 0", silent, "ended before it was ready: no answer"},
	} {
		p := process(t, c.script)
		p.Check = c.check
		s, err := New(quiet(), Unit{Name: "p", Component: p, Deadline: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		now, changes, unwatch := s.Watch()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		st := now[0]
		for st.LastFailure == "" {
			st = <-changes
		}
		if st.LastFailure != c.want {
			t.Errorf("%s: %q, want %q", c.script, st.LastFailure, c.want)
		}
		unwatch()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
