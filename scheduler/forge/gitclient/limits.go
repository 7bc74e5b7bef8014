package gitclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// What one read may take. All of these hold while it is read: an answer is
// never taken whole and measured then.
const (
	// maxAnswer bounds a server's answer about its branches, in bytes. The
	// repository with the most pull requests in the open has some 500,000 of
	// them, which is 30 MB.
	maxAnswer = 40 << 20
	// maxPack bounds the bytes of a pack as it travels, compressed. Where the
	// server can send a part, a larger one is asked for by the files that matter.
	maxPack = 64 << 20
	// maxObject is the size in bytes above which an object is never held in
	// memory. A folder of 300,000 files has 16 MB.
	maxObject = 16 << 20
	// maxInflated bounds how many bytes the objects of a pack may have together,
	// those included that are only passed over: it is what bounds the time.
	maxInflated = 1 << 30
	// maxObjects bounds the objects of a pack.
	maxObjects = 600_000
	// maxRead bounds the memory of one read, in bytes.
	maxRead = 192 << 20
)

// What all reads of this process may take together. Most take less than
// freeBytes. Beyond, a read waits for one of a few slots, and beyond middleBytes,
// for the only large one. A read that waits for the large slot keeps its middle
// one, which no holder of the large one waits for, so that there is no deadlock.
const (
	freeBytes   = 1 << 20
	middleBytes = 8 << 20
	middleSlots = 8
)

var (
	middle = semaphore.NewWeighted(middleSlots)
	large  = semaphore.NewWeighted(1)
)

// budget is the memory that a read has taken. It is of one goroutine at a time.
type budget struct {
	bytes         int64
	middle, large bool
	stored        bool  // the pack goes to the disk, and takes no memory
	exceeded      error // what was too much of an answer: go-git drops the types of errors
}

type budgetKey struct{}

// withBudget returns a context for one conversation, and its budget, which is to
// be released: without one, the slots that an answer takes would never be free
// again.
func withBudget(ctx context.Context) (context.Context, *budget) {
	b := &budget{}
	return context.WithValue(ctx, budgetKey{}, b), b
}

// take waits for memory. It fails when that is more than one read may have.
func (b *budget) take(ctx context.Context, bytes int64) error {
	if b.bytes+bytes > maxRead {
		return &model.LimitError{What: "bytes of memory for one read", Max: maxRead, Hint: smaller}
	}
	if !b.middle && b.bytes+bytes > freeBytes {
		if err := middle.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("waiting for other reads: %w", context.Cause(ctx))
		}
		b.middle = true
	}
	if !b.large && b.bytes+bytes > middleBytes {
		if err := large.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("waiting for another large read: %w", context.Cause(ctx))
		}
		b.large = true
	}
	b.bytes += bytes
	return nil
}

// give gives memory back; the slots stay until the end of the read.
func (b *budget) give(bytes int64) { b.bytes -= bytes }

// release ends the read.
func (b *budget) release() {
	if b.large {
		large.Release(1)
	}
	if b.middle {
		middle.Release(1)
	}
	*b = budget{}
}

// smaller is what to do about a repository that is too large to be read.
const smaller = "name a repository or branch that holds less: one for the manifests alone will do"

// limited bounds what servers answer.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	if r.Method == http.MethodGet { // for the list of branches, which no server has to make
		defer time.AfterFunc(maxList, func() { cancel(errSilent) }).Stop()
	}
	response, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
		cancel(nil)
		return nil, err
	}
	b := r.Context().Value(budgetKey{}).(*budget)
	body := &limitedBody{body: &pacedBody{ReadCloser: response.Body, cancel: cancel}, ctx: r.Context(), budget: b, what: "bytes in the list of its branches", limit: maxAnswer, weight: answerWeight}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
		body.what, body.limit, body.weight = "compressed bytes in it", maxPack, 1
		if b.stored {
			body.limit, body.weight = maxFetch, 0
		}
	}
	body.left = body.limit
	response.Body = body
	return response, nil
}

// answerWeight is how many bytes a byte of a list of branches takes in memory.
const answerWeight = 4

// limitedBody is an answer that ends with an error where it is too long. All
// that is read of it counts as kept.
type limitedBody struct {
	body        *pacedBody
	ctx         context.Context
	budget      *budget
	what        string
	left, limit int64
	weight      int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if errors.Is(err, errSlow) {
		b.budget.exceeded = err
		return 0, err
	}
	b.left -= int64(n)
	exceeded := error(&model.LimitError{What: b.what, Max: b.limit, Hint: smaller})
	if b.left >= 0 {
		exceeded = b.budget.take(b.ctx, int64(n)*b.weight)
	}
	if exceeded != nil {
		b.budget.exceeded = exceeded
		return 0, exceeded
	}
	return n, err
}

func (b *limitedBody) Close() error { return b.body.Close() }

// How fast a server has to send. One that sends a little now and then would hold
// the slot for large reads until the end of the conversation.
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

// maxList is how long a server may take to begin its list of branches. One that
// hangs would hold up all that is read besides.
const maxList = 30 * time.Second

var errSilent = fmt.Errorf("no answer within %s", maxList)

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
