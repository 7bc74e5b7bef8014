package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/store"
)

const (
	// feedPause is the least time between two messages of a topic.
	feedPause = 250 * time.Millisecond
	// feedPoll finds what another process has written.
	feedPoll = 2 * time.Second
	// feedLimit is how many transitions are passed on at once. After more it is less work for
	// everybody to read anew.
	feedLimit = 2000
	// streamBuffer is how many batches a stream may be behind, four seconds and more.
	streamBuffer = 16
	// resync is the event after which a reader has to read everything anew.
	resync = "resync"
)

// feed reads the outbox once for all streams. It works while there are any.
type feed struct {
	store   *store.Store
	log     *slog.Logger
	clients prometheus.Gauge

	mu       sync.Mutex
	streams  map[*stream]bool
	position int64 // the last message that the streams were given
	stop     context.CancelFunc
}

// stream is one reader of live events.
type stream struct {
	topics, environments []string // empty: all
	scope                store.Scope
	key                  string // the same for those that get the same
	batches              chan *batch
	slow                 chan struct{} // closed for a reader that is too slow
}

func newStream(topics, environments []string, scope store.Scope) *stream {
	return &stream{
		topics: topics, environments: environments, scope: scope, key: fmt.Sprintf("%q", []any{topics, environments, scope}),
		batches: make(chan *batch, streamBuffer), slow: make(chan struct{}),
	}
}

// batch is what the streams are given at once.
type batch struct {
	messages []store.Message
	last     int64
	lost     string // why it is a resync instead, "" of others

	mu      sync.Mutex
	written map[string][]byte // by key of the stream
}

// subscribe adds a stream, and returns the last message that it will not be given.
func (f *feed) subscribe(ctx context.Context, s *stream) (position int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.streams) == 0 {
		if f.position, err = f.store.LastMessage(ctx); err != nil {
			return 0, err
		}
		var running context.Context
		running, f.stop = context.WithCancel(context.Background())
		go f.read(running)
	}
	f.streams[s] = true
	f.clients.Set(float64(len(f.streams)))
	return f.position, nil
}

func (f *feed) unsubscribe(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(s)
}

// remove is unsubscribe for who has the lock. A stream may be gone already.
func (f *feed) remove(s *stream) {
	if !f.streams[s] {
		return
	}
	delete(f.streams, s)
	f.clients.Set(float64(len(f.streams)))
	if len(f.streams) == 0 {
		f.stop()
	}
}

// read gives the streams what is written to the outbox, until ctx ends.
func (f *feed) read(ctx context.Context) {
	for {
		written := f.store.Wait(ctx) // before the outbox is read, so that nothing is missed between
		if err := f.next(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("live events cannot be read", "error", err)
		}
		for _, event := range []<-chan struct{}{written, nil} { // and then nothing, for the pause
			limit := feedPoll
			if event == nil {
				limit = feedPause
			}
			timer := time.NewTimer(limit)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-event:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// next gives the streams what has come since the last time.
func (f *feed) next(ctx context.Context) error {
	f.mu.Lock()
	after := f.position
	f.mu.Unlock()
	b, err := f.after(ctx, after)
	if err != nil || b.last == after {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil { // another goroutine reads, from another position
		return nil
	}
	f.position = b.last
	for s := range f.streams {
		select {
		case s.batches <- b:
		default:
			f.remove(s)
			close(s.slow)
		}
	}
	return nil
}

// after is all that has come after a message.
func (f *feed) after(ctx context.Context, position int64) (*batch, error) {
	messages, err := f.store.Outbox(ctx, position, feedLimit+1)
	b := &batch{messages: messages, last: position, written: map[string][]byte{}}
	switch {
	case errors.Is(err, store.ErrGone):
		b.lost = "what came in between is not kept any more"
	case err != nil:
		return nil, err
	case len(messages) > feedLimit:
		b.lost = fmt.Sprintf("more than %d changes at once", feedLimit)
	case len(messages) > 0:
		b.last = messages[len(messages)-1].ID
	}
	if b.lost != "" {
		b.messages = nil
		if b.last, err = f.store.LastMessage(ctx); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// text is what a stream writes of a batch, nothing where nothing is for it. Streams that get
// the same share it.
func (b *batch) text(s *stream) ([]byte, error) {
	if b.lost != "" {
		return resyncText(b.last, b.lost), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if text, ok := b.written[s.key]; ok {
		return text, nil
	}
	text, err := s.written(b.messages, b.last)
	if err != nil {
		return nil, err
	}
	b.written[s.key] = text
	return text, nil
}

func (s *stream) gets(m store.Message) bool {
	for _, one := range []struct {
		chosen []string
		value  string
	}{{s.topics, m.Topic}, {s.environments, m.Environment}, {s.scope.Environments, m.Environment}, {s.scope.Workspaces, m.Workspace}} {
		// what is of no environment or workspace is of all of them
		if len(one.chosen) > 0 && one.value != "" && !slices.Contains(one.chosen, one.value) {
			return false
		}
	}
	return m.Topic != "placement" || m.Workspace != "" || len(s.scope.Workspaces) == 0
}

type (
	// Event is the data of a live event: all transitions of its topic since the one before.
	Event struct {
		Items []EventItem `json:"items"`
	}
	// EventItem is a transition.
	EventItem struct {
		ID          int64     `json:"id"`
		At          time.Time `json:"at"`
		Environment string    `json:"environment,omitempty"`
		Workspace   string    `json:"workspace,omitempty"`
		Data        any       `json:"data,omitempty" doc:"What has changed, by topic. Absent where only a part of it is in scope."`
	}
)

// written are messages as server-sent events, one a topic. Only the last has the ID after which
// a reader goes on: one that has read a part of them gets all of them again, and knows by the
// items' IDs what it has.
func (s *stream) written(messages []store.Message, last int64) ([]byte, error) {
	var topics []string
	byTopic := map[string][]EventItem{}
	limited := len(s.scope.Workspaces)+len(s.scope.Environments) > 0
	for _, m := range messages {
		if !s.gets(m) {
			continue
		}
		var data any
		if !limited || m.Workspace != "" {
			if err := json.Unmarshal(m.Payload, &data); err != nil {
				return nil, fmt.Errorf("message %d: %w", m.ID, err)
			}
		}
		if byTopic[m.Topic] == nil {
			topics = append(topics, m.Topic)
		}
		byTopic[m.Topic] = append(byTopic[m.Topic], EventItem{ID: m.ID, At: m.At, Environment: m.Environment, Workspace: m.Workspace, Data: textsOf(data)})
	}
	var out bytes.Buffer
	for i, topic := range topics {
		data, err := json.Marshal(Event{byTopic[topic]})
		if err != nil {
			return nil, err
		}
		if i == len(topics)-1 {
			fmt.Fprintf(&out, "id: %d\n", last)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", topic, data)
	}
	return out.Bytes(), nil
}

func resyncText(last int64, reason string) []byte {
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: {\"reason\":%q}\n\n", last, resync, reason)
}
