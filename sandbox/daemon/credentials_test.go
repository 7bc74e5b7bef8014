package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// What reads its credentials when it starts is started again, and the client hears
// what was mended, or why not.
func TestCredentialsAreRenewed(t *testing.T) {
	h := state.Home(t.TempDir())
	var starts atomic.Int32
	scheduler := supervisor.Task{Run: func(context.Context) error { starts.Add(1); return nil }}
	units := []supervisor.Unit{
		{Name: "scheduler", Deadline: time.Minute, Component: scheduler},
		{Name: "gitea", Deadline: time.Minute, Component: supervisor.Task{Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}},
	}
	var asked map[string]bool
	found, failure := stack.RenewedCredentials{Renewed: []string{"a token"}, Restart: []string{"scheduler"}}, error(nil)
	server := &Server{Home: h, State: &state.State{Workshop: "w"}, Log: slog.New(slog.DiscardHandler), Build: func() Parts {
		return Parts{Units: units, Credentials: func(_ context.Context, ready func(string) bool) (stack.RenewedCredentials, error) {
			asked = map[string]bool{"scheduler": ready("scheduler"), "gitea": ready("gitea"), "none": ready("none")}
			return found, failure
		}}
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() { stop(); <-ended }()
	client := NewClient(h)
	until := func(what string, is func() bool) {
		t.Helper()
		err := retry.Until(t.Context(), what, time.Minute, func(ctx context.Context) error {
			all, err := client.Components(ctx)
			if err == nil && (len(all) == 0 || all[0].State != supervisor.Ready || !is()) {
				err = errors.New("not yet")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	until("the first start", func() bool { return starts.Load() == 1 })
	var answer stack.RenewedCredentials
	if err := client.Do(t.Context(), PathCredentials, nil, &answer, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a token"}, answer.Renewed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"scheduler": true, "gitea": false, "none": false}, asked); diff != "" {
		t.Error(diff)
	}
	until("the second start", func() bool { return starts.Load() == 2 })

	found, failure = stack.RenewedCredentials{}, errors.New("the forge is silent")
	if err := client.Do(t.Context(), PathCredentials, nil, &answer, nil); err == nil || err.Error() != "credentials: the forge is silent" {
		t.Error(err)
	}
	// what starts after the data has been replaced looks itself
	release, err := server.supervisors.reserve("the sandbox is being reset")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	answer = stack.RenewedCredentials{}
	if err := client.Do(t.Context(), PathCredentials, nil, &answer, nil); err != nil || len(answer.Renewed) > 0 {
		t.Errorf("%+v, %v", answer, err)
	}
}
