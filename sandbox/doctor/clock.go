package doctor

import (
	"context"
	"time"
)

// writtenAfter is before any kalypso was written: a clock that shows less has not
// been set.
var writtenAfter = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock asks whether the time of this machine can be right. Certificates are
// valid only from when the sandbox was made, so nothing in a sandbox trusts anything
// else when the clock has been set back behind that.
func checkClock(_ context.Context, sys *System, s *Subject) Finding {
	const minute = "2006-01-02 15:04 MST"
	now := sys.Now()
	found := "it is " + now.Format(minute)
	fix := "set the clock: `timedatectl set-ntp true`, or " + sys.asRoot("date -s 'YYYY-MM-DD hh:mm'", true)
	if sys.OS == "darwin" {
		fix = "set the clock: " + sys.asRoot("sntp -sS time.apple.com", true)
	}
	const anew = "; if it is right, make a new sandbox with `kalypso down --delete` and `kalypso up`"
	switch {
	case now.Before(writtenAfter):
		return fatal(found+" by this machine's clock", "certificates and tokens are made for a time long ago, and nothing else trusts them", fix)
	case now.Before(s.ValidFrom):
		return fatal(found+" by this machine's clock, and the sandbox was made later", "its certificates are not valid before "+s.ValidFrom.In(now.Location()).Format(minute)+", so the clusters do not answer", fix+anew)
	case !s.ValidUntil.IsZero() && now.After(s.ValidUntil):
		return fatal(found+" by this machine's clock", "the sandbox's certificates were valid until "+s.ValidUntil.In(now.Location()).Format(minute)+", so the clusters do not answer", fix+anew)
	}
	return ok("%s", found)
}
