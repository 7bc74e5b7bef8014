package cmdutil

import (
	"fmt"
	"io"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// App is what every command needs. Data goes to out, messages to err.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Version  string
}

// Home is looked up when a command needs it: most mistakes in it concern no
// other command.
func (a *App) Home() (sandbox.Home, error) { return sandbox.FindHome() }

func (a *App) Messagef(format string, args ...any) { fmt.Fprintf(a.Err, format+"\n", args...) }

// ReportAzureWait says what Azure is waited for.
func (a *App) ReportAzureWait(w arc.Wait) {
	a.Messagef("waiting %s, until %s: %s (%s)", time.Until(w.Until).Round(time.Second), w.Until.Format(time.TimeOnly), w.Reason, w.Request)
}
