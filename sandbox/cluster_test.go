package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// twoClusters is a sandbox with the clusters of a workshop that has two, and
// the parts that a test moves.
func twoClusters(t *testing.T, h Home) (units []supervisor.Unit, large *daemontest.Part) {
	t.Helper()
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "hello-world"}); err != nil {
		t.Fatal(err)
	}
	large = &daemontest.Part{}
	in := func(cluster string, u supervisor.Unit) supervisor.Unit {
		u.Group = cluster
		return u
	}
	return []supervisor.Unit{
		daemontest.Steady("etcd"),
		in("drone", new(daemontest.Part).Unit("drone", "etcd")),
		in("large", large.Unit("large", "etcd")),
		in("large", new(daemontest.Part).Unit("argocd-large", "large")),
		new(daemontest.Part).Unit("kubeconfig", "drone", "large"),
	}, large
}

func TestStopAndStartOfACluster(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	d := daemontest.Serve(t, h, units...)
	d.Settle(t)
	var ended []string
	for i, changed := range []bool{true, false} {
		turn, err := StopCluster(t.Context(), h, "large", func(all []supervisor.Status) {
			for _, s := range all {
				if s.State == supervisor.Stopped && !slices.Contains(ended, s.Name) {
					ended = append(ended, s.Name)
				}
			}
		})
		if err != nil || turn != (ClusterChange{Changed: changed, Running: true}) {
			t.Errorf("stop %d: %+v, %v", i, turn, err)
		}
	}
	slices.Sort(ended)
	if want := []string{"argocd-large", "large"}; !slices.Equal(ended, want) {
		t.Errorf("progress told of %q, want %q", ended, want)
	}
	if s := d.Status(t)[2]; !s.Held || s.Reason != "stopped by `kalypso stop large`; `kalypso start large` brings it back" {
		t.Errorf("%+v", s)
	}
	if !daemon.AllReady(d.Status(t)) {
		t.Error("`up` would wait for a cluster that was stopped on purpose")
	}
	if stopped, err := h.StoppedClusters(); err != nil || !slices.Equal(stopped, []string{"large"}) {
		t.Errorf("on disk: %q, %v", stopped, err)
	}
	if _, err := Restart(t.Context(), h, "large", time.Minute, nil); err == nil || !strings.Contains(err.Error(), "`kalypso start large` brings it back") {
		t.Errorf("restart: %v", err)
	}

	// another daemon leaves it away
	d.End()
	d = daemontest.Serve(t, h, units...)
	d.Settle(t)
	if s := d.Status(t)[2]; !s.Held || large.Starts() != 1 {
		t.Errorf("after a new start: %+v, %d starts", s, large.Starts())
	}
	for i, changed := range []bool{true, false} {
		turn, err := StartCluster(t.Context(), h, "large", time.Minute, nil)
		if err != nil || turn != (ClusterChange{Changed: changed, Running: true}) {
			t.Errorf("start %d: %+v, %v", i, turn, err)
		}
	}
	if s := d.Status(t)[3]; s.State != supervisor.Ready || large.Starts() != 2 {
		t.Errorf("%+v, %d starts", s, large.Starts())
	}
	if stopped, err := h.StoppedClusters(); err != nil || len(stopped) != 0 {
		t.Errorf("on disk: %q, %v", stopped, err)
	}
}

func TestStartOfAClusterSaysWhatIsWrong(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	large.OnReady = func(start int) error { return map[bool]error{true: errors.New("no leader")}[start == 2] }
	large.OnInit = func(start int) error {
		return map[bool]error{true: &supervisor.PermanentError{Err: errors.New("port 3 is taken")}}[start == 3]
	}
	d := daemontest.Serve(t, h, units...)
	d.Settle(t)
	stop := func() {
		if _, err := StopCluster(t.Context(), h, "large", nil); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	var late *TimeoutError
	if _, err := StartCluster(t.Context(), h, "large", 300*time.Millisecond, nil); !errors.As(err, &late) || late.What != "large" || late.Reason != "no leader" {
		t.Error(err)
	}
	stop()
	var failed *FailedError
	if _, err := StartCluster(t.Context(), h, "large", time.Minute, nil); !errors.As(err, &failed) || failed.Failed[0].Reason != "port 3 is taken" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartCluster(ctx, h, "large", time.Minute, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestClusterThatThereIsNot(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := StopCluster(t.Context(), h, "large", nil); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	twoClusters(t, h)
	var mistake *usage.Error
	if _, err := StopCluster(t.Context(), h, "larg", nil); !errors.As(err, &mistake) || err.Error() != "there is no cluster \"larg\", did you mean large?\nChoose one of drone, large" {
		t.Error(err)
	}
	if _, err := StartCluster(t.Context(), h, "", time.Minute, nil); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "Choose one of drone, large") {
		t.Error(err)
	}
}

func TestStopInASandboxThatIsDown(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	if turn, err := StopCluster(t.Context(), h, "large", nil); err != nil || turn != (ClusterChange{Changed: true}) {
		t.Errorf("%+v, %v", turn, err)
	}
	d := daemontest.Serve(t, h, units...)
	d.Settle(t)
	if large.Starts() != 0 {
		t.Error("it has been started")
	}
	d.End()
	if turn, err := StartCluster(t.Context(), h, "large", time.Minute, nil); err != nil || turn != (ClusterChange{Changed: true}) {
		t.Errorf("%+v, %v", turn, err)
	}
	daemontest.Serve(t, h, units...).Settle(t)
	if large.Starts() != 1 {
		t.Error("it has not been started")
	}
}
