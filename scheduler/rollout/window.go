package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// open says whether a wave may begin now, and if not, when the next window begins.
func open(windows []v1alpha1.RolloutWindow, now time.Time) (bool, time.Time) {
	var next time.Time
	for _, w := range windows {
		zone, err := time.LoadLocation(string(w.TimeZone))
		if err != nil {
			continue // the model has no such window
		}
		local := now.In(zone)
		// one that began yesterday may go on; after a week they repeat
		for day := -1; day <= 7; day++ {
			from := at(local, day, w.From)
			to := at(local, day, w.To)
			if w.To.Minutes() <= w.From.Minutes() {
				to = at(local, day+1, w.To)
			}
			if name := v1alpha1.Weekday(from.Format("Mon")); len(w.Days) > 0 && !slices.Contains(w.Days, name) {
				continue
			}
			if !now.Before(from) && now.Before(to) {
				return true, time.Time{}
			}
			if from.After(now) && (next.IsZero() || from.Before(next)) {
				next = from
			}
		}
	}
	return len(windows) == 0, next
}

// at is a time of the day that is some days from another.
func at(day time.Time, days int, t v1alpha1.TimeOfDay) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day()+days, 0, t.Minutes(), 0, 0, day.Location())
}

// closed is why a wave does not begin now, "" where it may, with when it may.
func closed(windows []v1alpha1.RolloutWindow, now time.Time) (string, time.Time) {
	is, next := open(windows, now)
	switch {
	case is:
		return "", time.Time{}
	case next.IsZero():
		return "no window is ever open", next
	}
	return fmt.Sprintf("the next window opens at %s", next.Format("Mon 2006-01-02 15:04 MST")), next
}
