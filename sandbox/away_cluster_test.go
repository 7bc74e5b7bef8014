package sandbox

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// twoClusters is a sandbox with the clusters of a workshop that has two, and
// the parts that a test moves.
func twoClusters(t *testing.T, h Home) (units []supervisor.Unit, large *part) {
	t.Helper()
	if _, err := h.ensureState("hello-world", Choice{}); err != nil {
		t.Fatal(err)
	}
	large = &part{}
	in := func(cluster string, u supervisor.Unit) supervisor.Unit {
		u.Group = cluster
		return u
	}
	return []supervisor.Unit{
		steady("etcd"),
		in("drone", new(part).unit("drone", "etcd")),
		in("large", large.unit("large", "etcd")),
		in("large", new(part).unit("argocd-large", "large")),
		new(part).unit("kubeconfig", "drone", "large"),
	}, large
}

func TestStopAndStartOfACluster(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	d := serve(t, h, units...)
	d.settle(t)
	var ended []string
	for i, changed := range []bool{true, false} {
		turn, err := StopCluster(t.Context(), h, "large", func(all []supervisor.Status) {
			for _, s := range all {
				if s.State == supervisor.Stopped && !slices.Contains(ended, s.Name) {
					ended = append(ended, s.Name)
				}
			}
		})
		if err != nil || turn != (Turn{Changed: changed, Running: true}) {
			t.Errorf("stop %d: %+v, %v", i, turn, err)
		}
	}
	slices.Sort(ended)
	if want := []string{"argocd-large", "large"}; !slices.Equal(ended, want) {
		t.Errorf("progress told of %q, want %q", ended, want)
	}
	if s := d.Status()[2]; !s.Held || s.Reason != "stopped by `kalypso stop large`; `kalypso start large` brings it back" {
		t.Errorf("%+v", s)
	}
	if !ready(d.Status()) {
		t.Error("somebody would wait for a cluster that was stopped on purpose")
	}
	if away, err := h.away(); err != nil || !slices.Equal(away, []string{"large"}) {
		t.Errorf("on disk: %q, %v", away, err)
	}
	if _, err := Restart(t.Context(), h, "large", time.Minute, nil); err == nil || !strings.Contains(err.Error(), "`kalypso start large` brings it back") {
		t.Errorf("restart: %v", err)
	}

	// another daemon leaves it away
	d.end()
	d = serve(t, h, units...)
	d.settle(t)
	if s := d.Status()[2]; !s.Held || large.count() != 1 {
		t.Errorf("after a new start: %+v, %d starts", s, large.count())
	}
	for i, changed := range []bool{true, false} {
		turn, err := StartCluster(t.Context(), h, "large", time.Minute, nil)
		if err != nil || turn != (Turn{Changed: changed, Running: true}) {
			t.Errorf("start %d: %+v, %v", i, turn, err)
		}
	}
	if s := d.Status()[3]; s.State != supervisor.Ready || large.count() != 2 {
		t.Errorf("%+v, %d starts", s, large.count())
	}
	if away, err := h.away(); err != nil || len(away) != 0 {
		t.Errorf("on disk: %q, %v", away, err)
	}
}

func TestStartOfAClusterSaysWhatIsWrong(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	large.ready = func(start int) error { return map[bool]error{true: errors.New("no leader")}[start == 2] }
	large.init = func(start int) error {
		return map[bool]error{true: &supervisor.PermanentError{Err: errors.New("port 3 is taken")}}[start == 3]
	}
	d := serve(t, h, units...)
	d.settle(t)
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
	var usage *UsageError
	if _, err := StopCluster(t.Context(), h, "larg", nil); !errors.As(err, &usage) || err.Error() != "there is no cluster \"larg\", did you mean large?\nChoose one of drone, large" {
		t.Error(err)
	}
	if _, err := StartCluster(t.Context(), h, "", time.Minute, nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "Choose one of drone, large") {
		t.Error(err)
	}
}

func TestStopInASandboxThatIsDown(t *testing.T) {
	h := Home(t.TempDir())
	units, large := twoClusters(t, h)
	if turn, err := StopCluster(t.Context(), h, "large", nil); err != nil || turn != (Turn{Changed: true}) {
		t.Errorf("%+v, %v", turn, err)
	}
	d := serve(t, h, units...)
	d.settle(t)
	if large.count() != 0 {
		t.Error("it has been started")
	}
	d.end()
	if turn, err := StartCluster(t.Context(), h, "large", time.Minute, nil); err != nil || turn != (Turn{Changed: true}) {
		t.Errorf("%+v, %v", turn, err)
	}
	serve(t, h, units...).settle(t)
	if large.count() != 1 {
		t.Error("it has not been started")
	}
}

func TestBrokenListOfStoppedClusters(t *testing.T) {
	h := Home(t.TempDir())
	fill(t, string(h), map[string]string{awayFile: "["})
	if _, err := h.away(); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Error(err)
	}
	if err := os.Remove(h.Path(awayFile)); err != nil {
		t.Fatal(err)
	}
	if away, err := h.away(); err != nil || away != nil {
		t.Errorf("%q, %v", away, err)
	}
}
