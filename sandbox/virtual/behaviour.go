package virtual

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/workshop"
)

// behaviour is how one cluster behaves. All of it follows from the seed, the
// cluster's name and what it is asked about, so that a run can be repeated.
type behaviour struct {
	workshop.Virtual
	name  string
	began time.Time // the time that it is offline counts from here
}

func newBehaviour(c workshop.Cluster, began time.Time) behaviour {
	b := behaviour{name: c.Name, began: began}
	if c.Virtual != nil {
		b.Virtual = *c.Virtual
	}
	return b
}

// draw is a number from 0 to below 1 that is always the same for the same
// question.
func (b behaviour) draw(about string, detail ...any) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%v", b.Seed, b.name, about, detail))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// delay is how long the cluster takes from a push until it has applied it.
func (b behaviour) delay() time.Duration {
	if b.Delay == 0 {
		return 0
	}
	return time.Duration(b.draw("delay") * float64(b.Delay))
}

// fails is whether a revision of a folder, by its digest, fails on the cluster.
func (b behaviour) fails(digest string) bool {
	return b.Failing > 0 && b.draw("failing", digest) < b.Failing
}

// maxSlots is how many times of being offline in a row are looked at.
const maxSlots = 10_000

// offline is whether the cluster cannot be reached at a time, since when and until
// when. Since is zero where it has never been reached, until where it never will
// be.
func (b behaviour) offline(now time.Time) (is bool, since, until time.Time) {
	if b.Offline <= 0 || b.OfflineFor <= 0 {
		return false, since, until
	}
	slot := int64(now.Sub(b.began) / b.OfflineFor)
	off := func(n int64) bool { return b.draw("offline", n) < b.Offline }
	if !off(slot) {
		return false, since, until
	}
	start := func(n int64) time.Time { return b.began.Add(time.Duration(n) * b.OfflineFor) }
	for n := slot; n > max(0, slot-maxSlots); n-- {
		if !off(n - 1) {
			since = start(n)
			break
		}
	}
	if b.Offline >= 1 {
		return true, since, until
	}
	for n := slot + 1; n < slot+maxSlots; n++ {
		if !off(n) {
			return true, since, start(n)
		}
	}
	return true, since, start(slot + maxSlots)
}
