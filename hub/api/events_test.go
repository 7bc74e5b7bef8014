package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// event is a server-sent event.
type event struct {
	id, name, data string
}

// reader reads a stream of events.
type reader struct {
	lines *bufio.Scanner
	last  string // what EventSource sends as Last-Event-ID
	items []int64
}

func newReader(in interface{ Read([]byte) (int, error) }) *reader {
	r := &reader{lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, 1<<20)
	return r
}

// next is the next event; the error is of the connection.
func (r *reader) next() (e event, err error) {
	for r.lines.Scan() {
		field, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name == "" {
				continue // retry
			}
			if e.id != "" {
				r.last = e.id
			}
			return e, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		return e, err
	}
	return e, errors.New("the stream has ended")
}

// until reads items until those up to an ID are there.
func (r *reader) until(id int64) error {
	for {
		if last, err := strconv.ParseInt(r.last, 10, 64); err == nil && last >= id {
			slices.Sort(r.items) // those of one batch come by topic
			return nil
		}
		e, err := r.next()
		if err != nil {
			return fmt.Errorf("after %d items: %w", len(r.items), err)
		}
		switch e.name {
		case "heartbeat":
			continue
		case "resync":
			return fmt.Errorf("resync after %d items: %s", len(r.items), e.data)
		}
		var data api.Event
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			return err
		}
		for _, item := range data.Items {
			r.items = append(r.items, item.ID)
		}
	}
}

// stream opens a stream, and closes it with the test.
func (h *hub) stream(client *http.Client, query, last string, changes ...func(*http.Request)) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(h.Context(), deadline)
	h.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL+"/api/v1/events"+query, nil)
	if err != nil {
		return nil, err
	}
	as(h.owner)(r)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	for _, change := range changes {
		change(r)
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	h.Cleanup(func() { _ = res.Body.Close() }) // it was only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a stream: %s", res.Status)
	}
	return res, nil
}

func (h *hub) reader(query, last string, changes ...func(*http.Request)) *reader {
	h.Helper()
	res, err := h.stream(h.server.Client(), query, last, changes...)
	if err != nil {
		h.Fatal(err)
	}
	return newReader(res.Body)
}

// last is the ID of the newest message.
func (h *hub) last() int64 {
	h.Helper()
	last, err := h.store.LastMessage(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return last
}

// flip makes transitions: web-east on all clusters.
func (h *hub) flip(i int) {
	h.Helper()
	if i%2 == 0 {
		h.apply(fleetOf("failing", strings.Repeat("why ", 500)+strconv.Itoa(i)))
		return
	}
	h.apply(fleetOf("ok", ""))
}

func TestEvents(t *testing.T) {
	h := newHub(t)
	r, stage, placements := h.reader("", ""), h.reader("?env=stage", ""), h.reader("?topics=placement", "")
	viewer := h.reader("", "", as(h.token("viewer", api.Viewer, store.Scope{Workspaces: []string{"team-b"}})))
	first := h.last()
	h.apply(fleetOf("failing", reason))
	e, err := r.next()
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Items []struct {
			ID          int64
			Environment string
			Data        struct{ Target, State, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(e.data), &data); err != nil || e.name != "placement" || len(data.Items) != 6 || data.Items[0].ID != first+1 || data.Items[0].Data.State != "failing" || strings.Contains(data.Items[0].Data.Reason, "\x1b") {
		t.Errorf("%v: %+v", err, e)
	}
	if e, err := r.next(); err != nil || e.name != "environment" || e.id != strconv.FormatInt(h.last(), 10) {
		t.Errorf("%v: %+v", err, e)
	}
	if e, err := stage.next(); err != nil || strings.Contains(e.data, `"dev"`) {
		t.Errorf("of stage: %v: %+v", err, e)
	}
	if e, err := placements.next(); err != nil || e.name != "placement" || e.id != strconv.FormatInt(h.last(), 10) {
		t.Errorf("of placements: %v: %+v", err, e)
	}
	// of what is not theirs a viewer only gets that an environment has changed
	if e, err := viewer.next(); err != nil || e.name != "environment" || strings.Contains(e.data, "data") && strings.Contains(e.data, "transitions") {
		t.Errorf("of a viewer: %v: %+v", err, e)
	}

	for name, last := range map[string]string{"of another hub": "999999", "no number": "x", "negative": "-1"} {
		if e, err := h.reader("", last).next(); err != nil || e.name != "resync" || e.id != strconv.FormatInt(h.last(), 10) {
			t.Errorf("%s: %v: %+v", name, err, e)
		}
	}
	if err := h.store.Prune(t.Context(), time.Now().Add(25*time.Hour), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if e, err := h.reader("", strconv.FormatInt(first, 10)).next(); err != nil || e.name != "resync" {
		t.Errorf("pruned: %v: %+v", err, e)
	}
}

// page is a connection to a page that reads all that is written.
type page struct {
	header http.Header
	mu     sync.Mutex
	text   strings.Builder
}

func (p *page) Header() http.Header              { return p.header }
func (p *page) WriteHeader(int)                  {}
func (p *page) Flush()                           {}
func (p *page) SetWriteDeadline(time.Time) error { return nil }
func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// TestHeartbeat is about streams on which nothing happens: they live, and they end with what they
// began with: a token, the role of who has signed in by a provider, the share.
func TestHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		options func(*api.Options)
		signIn  func(*hub, *http.Request) (end func() error)
	}{
		"a token": {func(*api.Options) {}, func(h *hub, r *http.Request) func() error {
			as(h.token("reader", api.Viewer, store.Scope{}))(r)
			return func() error { return h.store.RevokeToken(h.Context(), "reader") }
		}},
		"a session of a provider": {func(o *api.Options) {
			o.SignIn = auth.New("http://127.0.0.1", auth.Rules{{Group: "readers", Role: auth.Viewer, Environments: []string{"dev"}}}, 0, (&auth.OIDC{Issuer: "http://127.0.0.1:1"}).Way())
		}, func(h *hub, r *http.Request) func() error {
			e := store.External{Way: "oidc", Login: "ann", Groups: []string{"readers"}}
			session, _, err := h.store.CreateSession(h.Context(), store.Identity{Subject: "ann", Expires: time.Now().Add(time.Hour), External: &e}, func(string) (string, error) { return "", nil })
			if err != nil {
				h.Fatal(err)
			}
			r.AddCookie(&http.Cookie{Name: "kalypso_hub", Value: session})
			return func() error {
				e.Groups = nil
				return h.store.UpdateSession(h.Context(), session, e)
			}
		}},
		"the link of a share": {func(o *api.Options) { o.Share = &api.Share{Token: "secret"} }, func(_ *hub, r *http.Request) func() error {
			r.AddCookie(&http.Cookie{Name: "kalypso_hub", Value: "secret"})
			return nil // it ends with its server
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hub{T: t, database: filepath.Join(t.TempDir(), "hub.db")}
				h.open()
				h.apply(fleetOf("ok", ""))
				handler := h.handler(func(o *api.Options) {
					o.Registry = nil
					c.options(o)
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/api/v1/events", nil)
				end := c.signIn(h, r)
				p, ended := &page{header: http.Header{}}, make(chan struct{})
				go func() {
					defer close(ended)
					handler.ServeHTTP(p, r)
				}()
				time.Sleep(31 * time.Second)
				if n := strings.Count(p.read(), "event: heartbeat\n"); n != 2 || !strings.Contains(p.read(), "id: "+strconv.FormatInt(h.last(), 10)+"\n") {
					t.Errorf("%d heartbeats: %s", n, p.read())
				}
				if end == nil {
					cancel()
				} else if err := end(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(15 * time.Second)
				select {
				case <-ended:
				default:
					t.Error("the stream goes on without it")
				}
				if err := h.store.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// smallBuffers makes connections that hold little of what their reader does not take.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4<<10))
	}
	return c, err
}

func (h *hub) serve() {
	h.Helper()
	server := httptest.NewUnstartedServer(h.handler(func(o *api.Options) { o.Registry = nil }))
	server.Listener = smallBuffers{server.Listener}
	server.Start()
	h.Cleanup(server.Close)
	h.server = server
}

// TestManyReaders has 500 readers of live events, one of which takes nothing, and restarts the
// hub: no other loses an event or gets one twice.
func TestManyReaders(t *testing.T) {
	const readers, rounds = 500, 30
	h := newHub(t)
	h.serve()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	stalled, err := net.Dial("tcp", h.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stalled.Close() }() // it was only read
	if err := errors.Join(stalled.(*net.TCPConn).SetReadBuffer(2<<10), stalled.SetDeadline(time.Now().Add(deadline))); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(stalled, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", h.owner)

	all := make([]*reader, readers)
	connect := func() {
		t.Helper()
		each(t, all, func(i int) error {
			var last string
			if all[i] != nil {
				last = all[i].last
			}
			res, err := h.stream(client, "", last)
			if err != nil {
				return err
			}
			r := newReader(res.Body)
			if all[i] != nil {
				r.last, r.items = all[i].last, all[i].items
			}
			all[i] = r
			return nil
		})
	}
	connect()
	first := h.last() + 1
	began, used := time.Now(), processorTime(t)
	var last int64
	for i := range rounds {
		h.flip(i)
		last = h.last()
		each(t, all, func(i int) error { return all[i].until(last) })
	}
	took, cpu := time.Since(began), processorTime(t)-used
	t.Logf("%d readers, %d events each: %s, %s of the processor", readers, last-first+1, took.Round(time.Millisecond), cpu.Round(time.Millisecond))
	if perEvent := cpu / time.Duration(readers*rounds); perEvent > 2*time.Millisecond {
		t.Errorf("a message takes %s of the processor for each reader", perEvent)
	}

	if err := stalled.(*net.TCPConn).SetReadBuffer(1 << 20); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(stalled), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, slow := event{}, newReader(res.Body)
	for e.name != "resync" {
		if e, err = slow.next(); err != nil {
			t.Fatalf("the reader that took nothing was not told: %v", err)
		}
	}
	if e.id == "" || e.id == strconv.FormatInt(last, 10) {
		t.Errorf("the reader that took nothing goes on after %q", e.id)
	}
	if e, err := slow.next(); err == nil {
		t.Errorf("it goes on with %+v", e)
	}

	t.Logf("after %s the hub starts again, and something happens before the readers are back", time.Since(began).Round(time.Millisecond))
	h.server.CloseClientConnections()
	h.server.Close()
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.flip(rounds)
	h.serve()
	connect()
	h.flip(rounds + 1)
	last = h.last()
	each(t, all, func(i int) error { return all[i].until(last) })
	want := make([]int64, 0, last-first+1)
	for id := first; id <= last; id++ {
		want = append(want, id)
	}
	for i, r := range all {
		if !slices.Equal(r.items, want) {
			t.Errorf("reader %d has %d events, want %d: %v", i, len(r.items), len(want), r.items)
			break
		}
	}
}

// each does something for every reader at once.
func each(t *testing.T, all []*reader, do func(i int) error) {
	t.Helper()
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { failed[i] = do(i) })
	}
	wait.Wait()
	for i, err := range failed {
		if err != nil {
			t.Fatalf("reader %d: %v", i, err)
		}
	}
}

// processorTime is what this process has used of the processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
