// Package agent reports what a cluster follows to a hub that cannot reach the cluster.
//
// It only makes connections, to its cluster's API and to the hub. It looks again and again, and
// reports when something has changed, and else as a heartbeat, so that the hub knows silence from
// calm. While the hub cannot be reached it keeps the newest state alone: what was in between has no
// use any more, and needs no room.
package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// DefaultLook is how often the cluster is looked at, and DefaultHeartbeat in how long a report
	// follows another at the latest.
	DefaultLook      = 10 * time.Second
	DefaultHeartbeat = time.Minute

	// lookLimit and sendLimit are for one look and one report.
	lookLimit = time.Minute
	sendLimit = 30 * time.Second
	// firstRetry is how long after a report that has failed the next is tried; each time that is
	// longer, to mostRetry.
	firstRetry = time.Second
	mostRetry  = time.Minute
	// maxAnswer is how much of the hub's answer is read, in bytes.
	maxAnswer   = 64 << 10
	reportsPath = "/api/v1/reports"
)

// Options configure an agent.
type Options struct {
	Hub       string // URL
	Cluster   string // its name in the hub, which the token is of
	TokenFile string // read for each report, so that it can be replaced
	Reader    fleet.Reader
	Labels    map[string]string
	Look      time.Duration // DefaultLook when zero
	Heartbeat time.Duration // DefaultHeartbeat when zero
	Log       *slog.Logger
}

// report is the body of a report, see api.Report.
type report struct {
	Cluster         string               `json:"cluster"`
	At              time.Time            `json:"at"`
	IntervalSeconds int64                `json:"intervalSeconds"`
	Labels          map[string]string    `json:"labels,omitempty"`
	Unknown         string               `json:"unknown,omitempty"`
	Subscriptions   []fleet.Subscription `json:"subscriptions"`
}

// digest is of all that a report says but when.
func (r report) digest() [sha256.Size]byte {
	r.At = time.Time{}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it was made of JSON
	}
	return sha256.Sum256(text)
}

// newest is the state that is to be reported.
type newest struct {
	mu      sync.Mutex
	report  report
	digest  [sha256.Size]byte
	changed chan struct{} // holds one
}

// set keeps a state, and wakes who reports when it is another one.
func (n *newest) set(r report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.report = r
	if digest := r.digest(); digest != n.digest {
		n.digest = digest
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
}

// take is the state, and what has changed until now is in it.
func (n *newest) take() report {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.changed:
	default:
	}
	return n.report
}

// Run looks and reports until ctx ends, and returns nil then.
func Run(ctx context.Context, o Options) error {
	o.Look, o.Heartbeat = cmp.Or(o.Look, DefaultLook), cmp.Or(o.Heartbeat, DefaultHeartbeat)
	o.Log = redact.Logger(cmp.Or(o.Log, slog.Default()))
	if _, err := o.token(); err != nil {
		return err
	}
	n := &newest{changed: make(chan struct{}, 1)}
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() {
		for ctx.Err() == nil {
			n.set(o.look(ctx))
			wait(ctx, o.Look, nil)
		}
	})
	o.send(ctx, n)
	return nil
}

// wait is for a time, or for what wakes it before; nil wakes nothing.
func wait(ctx context.Context, limit time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// look reads the cluster. One that cannot be read is Unknown, which is a state to report.
func (o *Options) look(ctx context.Context) report {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("no answer within %s", lookLimit))
	defer cancel()
	r := report{Cluster: o.Cluster, IntervalSeconds: int64(o.Heartbeat.Seconds()), Labels: o.Labels, Subscriptions: []fleet.Subscription{}}
	snapshot, err := o.Reader.Inventory(ctx)
	r.At = time.Now().UTC()
	switch {
	case err != nil:
		r.Unknown = redact.Error(err).Error()
	case len(snapshot.Clusters) > 0:
		c := snapshot.Clusters[0]
		r.Unknown, r.Subscriptions = c.Unknown, append(r.Subscriptions, c.Subscriptions...)
	}
	return r
}

// send reports each change, and the heartbeat, until ctx ends.
func (o *Options) send(ctx context.Context, n *newest) {
	wait(ctx, lookLimit+sendLimit, n.changed) // the first look
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = firstRetry, min(mostRetry, o.Heartbeat)
	last := "" // why the report before has failed
	for ctx.Err() == nil {
		err := o.post(ctx, n.take())
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if last != "" {
				o.Log.Info("the hub has a report again")
			}
			last = ""
			retry.Reset()
			wait(ctx, o.Heartbeat, n.changed)
			continue
		}
		if reason := err.Error(); reason != last {
			o.Log.Warn("the hub has not taken a report; the newest is kept and sent again", "hub", o.Hub, "reason", reason)
			last = reason
		}
		pause := retry.NextBackOff()
		var refused *refusal
		if errors.As(err, &refused) && refused.after > pause {
			pause = min(refused.after, o.Heartbeat)
		}
		// not woken by a change: a hub that is down must not be asked more often because of it
		wait(ctx, pause, nil)
	}
}

// refusal is an answer of the hub that a report was not taken.
type refusal struct {
	status string
	detail string
	after  time.Duration // that the hub wants to be left alone for
}

func (r *refusal) Error() string { return strings.TrimSuffix(r.status+": "+r.detail, ": ") }

func (o *Options) token() (string, error) {
	data, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("token: %s is empty", o.TokenFile)
	}
	return token, nil
}

func (o *Options) post(ctx context.Context, r report) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sendLimit, fmt.Errorf("no answer within %s", sendLimit))
	defer cancel()
	token, err := o.token()
	if err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(o.Hub, "/")+reportsPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // the status says enough
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	refused := &refusal{status: answer.Status}
	var problem struct{ Detail string }
	if json.Unmarshal(said, &problem) == nil {
		refused.detail = problem.Detail
	}
	if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 16); err == nil {
		refused.after = time.Duration(seconds) * time.Second
	}
	return refused
}
