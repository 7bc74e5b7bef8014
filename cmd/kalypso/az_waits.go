package main

import (
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// azureWaits says what Azure is waited for.
func (a *app) azureWaits(w arc.Wait) {
	a.talk("waiting %s, until %s: %s (%s)", time.Until(w.Until).Round(time.Second), w.Until.Format(time.TimeOnly), w.Reason, w.Request)
}
