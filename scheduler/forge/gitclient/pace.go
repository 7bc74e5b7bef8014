package gitclient

import (
	"context"
	"fmt"
	"io"
	"time"
)

// How fast a server has to send. One that sends a little now and then would hold
// one of the few places for large reads until the end of the conversation.
const (
	// maxSilence is how long nothing may come. git sends something every five
	// seconds while it prepares a pack.
	maxSilence = 20 * time.Second
	// begun is how many bytes have to have come until it counts how many more do:
	// more than git sends while it prepares a pack.
	begun = 1 << 10
	// Of what comes then, every paceBytes have to come within paceTime: 4 KiB a
	// second.
	paceBytes = 120 << 10
	paceTime  = 30 * time.Second
)

// errSlow is about a server that sends nothing, or next to nothing.
var errSlow = fmt.Errorf("%w: the server has sent nothing for %s, or less than %d KiB in %s", ErrNetwork, maxSilence, paceBytes>>10, paceTime)

// pacedBody is an answer that ends with errSlow where it comes too slowly. The
// time between two reads is the reader's, and does not count.
type pacedBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc // ends the request
	timer  *time.Timer
	begun  int
	bytes  int           // since the pace was kept last
	waited time.Duration // for these
}

func (b *pacedBody) Read(p []byte) (int, error) {
	limit := maxSilence
	if b.begun >= begun {
		limit = min(limit, paceTime-b.waited)
	}
	start := time.Now()
	if b.timer == nil {
		b.timer = time.AfterFunc(limit, func() { b.cancel(errSlow) })
	} else {
		b.timer.Reset(limit)
	}
	n, err := b.ReadCloser.Read(p)
	if !b.timer.Stop() {
		return 0, errSlow
	}
	if b.begun < begun {
		b.begun += n
		return n, err
	}
	b.bytes += n
	b.waited += time.Since(start)
	if b.bytes >= paceBytes {
		b.bytes, b.waited = 0, 0
	}
	if b.waited >= paceTime && err == nil {
		b.cancel(errSlow)
		return 0, errSlow
	}
	return n, err
}

// Close implements io.Closer.
func (b *pacedBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
