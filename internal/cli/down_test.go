package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// endless is a component that ends when a test lets it.
type endless struct {
	daemontest.Part
	asked, let chan struct{}
}

func (e *endless) Stop(context.Context) error {
	close(e.asked)
	<-e.let
	return nil
}

// What `down` has asked to end goes on ending, and that is what it says: not how
// its own wait has ended.
func TestDownIsInterrupted(t *testing.T) {
	withoutSandbox(t)
	home := sandbox.Home(os.Getenv("KALYPSO_HOME"))
	writeFile(t, home.Path("sandbox.json"), []byte(stateFile))
	held, err := home.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	e := &endless{asked: make(chan struct{}), let: make(chan struct{})}
	unit := e.Unit("gitea")
	unit.Component = e
	d := daemontest.Serve(t, home, []supervisor.Unit{unit}...)
	d.Settle(t)
	_, talk, interrupt := background(t, "down")
	<-e.asked
	code := interrupt()
	close(e.let)
	if says := talk.String(); code != cmdutil.ExitInterrupted || !strings.Contains(says, "`kalypso down` again") || strings.Contains(says, "kalypso: ") {
		t.Errorf("exit code %d, says %q", code, says)
	}
}
