package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/hub/store"
)

const (
	heartbeatEach = 15 * time.Second
	// streamTimeout is how long a reader may take nothing of what is written.
	streamTimeout = 30 * time.Second
	// reconnectAfter is what readers are asked to wait before they connect again, in milliseconds.
	reconnectAfter = 2000
)

// EventsInput asks for live events.
type EventsInput struct {
	Topics       []string `query:"topics,explode" enum:"placement,environment,cluster,problem,pull-request,change,source" doc:"All when absent."`
	Environments []string `query:"env,explode" maxItems:"100" doc:"All when absent. What is of no environment comes in any case."`
	LastEventID  string   `header:"Last-Event-ID" doc:"The last ID that was read: what came after it comes first."`
}

func (a *api) eventRoutes() {
	o := operation{id: "streamEvents", path: "/events", summary: "Live events"}.huma()
	o.Description = "Server-sent events: one of each topic four times a second at most. Event is the topic, data has all transitions since the one before. " +
		"resync means that something was missed and all that is shown has to be read anew, heartbeat that the stream lives."
	schemas := a.huma.OpenAPI().Components.Schemas
	event := schemas.Schema(reflect.TypeFor[Event](), true, "")
	o.Responses = map[string]*huma.Response{"200": {
		Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"text/event-stream": {
			Schema: &huma.Schema{Type: huma.TypeString, Description: "The data of an event is an Event.", Extensions: map[string]any{"contentSchema": event}},
		}},
	}}
	huma.Register(a.huma, o, a.events)
}

func (a *api) events(ctx context.Context, input *EventsInput) (*huma.StreamResponse, error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return nil, failed(ctx, err)
	}
	s := newStream(input.Topics, input.Environments, scopeOf(ctx))
	position, err := a.feed.subscribe(ctx, s)
	if err != nil {
		return nil, failed(ctx, err)
	}
	missed, err := a.missed(ctx, input.LastEventID, position)
	if err != nil {
		a.feed.unsubscribe(s)
		return nil, failed(ctx, err)
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		defer a.feed.unsubscribe(s)
		c.SetHeader("Content-Type", "text/event-stream")
		c.SetHeader("X-Accel-Buffering", "no") // a proxy that collects answers makes live events late
		c.SetStatus(http.StatusOK)
		r, rw := humago.Unwrap(c)
		if err := a.follow(r, rw, s, position, missed); err != nil {
			requestOf(ctx).log.Debug("a stream of events has ended", "error", err)
		}
	}}, nil
}

// missed is what a reader that comes back has not been given: nil for nothing.
func (a *api) missed(ctx context.Context, lastEventID string, position int64) (*batch, error) {
	if lastEventID == "" {
		return nil, nil
	}
	id, err := strconv.ParseInt(lastEventID, 10, 64)
	if err != nil || id < 0 || id > position {
		return &batch{lost: "the ID is none of this hub's", last: position}, nil
	}
	b, err := a.feed.after(ctx, id)
	if err != nil {
		return nil, err
	}
	// what has come since the stream was added comes by it
	for len(b.messages) > 0 && b.messages[len(b.messages)-1].ID > position {
		b.messages = b.messages[:len(b.messages)-1]
	}
	b.last = min(b.last, position)
	return b, nil
}

// follow writes events until the reader goes, its sign-in ends, or it is too slow.
func (a *api) follow(r *http.Request, rw http.ResponseWriter, s *stream, position int64, missed *batch) error {
	control := http.NewResponseController(rw)
	write := func(text []byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(streamTimeout)); err != nil {
			return err
		}
		if _, err := rw.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := write(fmt.Appendf(nil, "retry: %d\n\n", reconnectAfter)); err != nil {
		return err
	}
	heartbeat := time.NewTicker(heartbeatEach)
	defer heartbeat.Stop()
	for b := missed; ; b = nil {
		if b == nil {
			select {
			case <-r.Context().Done():
				return nil
			case <-s.slow:
			case b = <-s.batches:
			case now := <-heartbeat.C:
				if !a.stillSignedIn(r) {
					return nil
				}
				if err := write(fmt.Appendf(nil, "id: %d\nevent: heartbeat\ndata: {\"at\":%q}\n\n", position, now.UTC().Format(time.RFC3339))); err != nil {
					return err
				}
				continue
			}
		}
		select {
		case <-s.slow: // what is buffered is of no use any more
			return write(resyncText(position, "this reader is too slow"))
		default:
		}
		text, err := b.text(s)
		if err != nil {
			return err
		}
		if len(text) > 0 {
			if err := write(text); err != nil {
				return err
			}
		}
		position = b.last
	}
}

// stillSignedIn looks whether the token or the session that a stream began with is valid, and
// for the same.
func (a *api) stillSignedIn(r *http.Request) bool {
	q := requestOf(r.Context())
	if a.Share != nil {
		return a.Share.knows(q.session)
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	var now store.Identity
	var err error
	if secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		now, err = a.Store.ByToken(ctx, secret)
	} else if now, err = a.Store.BySession(ctx, q.session); err == nil && now.External != nil && !a.SignIn.Resolve(&now) {
		return false
	}
	if err != nil {
		q.log.Debug("a stream of events ends with its sign-in", "error", err)
		return false
	}
	return digest(&now) == digest(q.identity)
}
