package githubtest

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault makes requests fail. Its zero value but for Answer hits the next API
// request.
type Fault struct {
	On     func(Call) bool // which requests; nil: those of the API
	Skip   int             // how many that match come before
	Times  int             // how many are hit: once when 0, all when -1
	Late   bool            // the request is carried out all the same
	Answer Answer

	hits int
}

// Answer is what a request gets instead of its answer. carryOut carries it out
// and returns the answer that it would have got.
type Answer func(w http.ResponseWriter, q *http.Request, carryOut func() (status int, header http.Header, body []byte))

// Fail makes requests fail until the fault is used up. It returns what ends it.
func (s *Server) Fail(f Fault) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &f
	s.faults = append(s.faults, own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		own.Times, own.hits = 1, 1
	}
}

// Kinds matches requests of the API by the beginning of their kind, or of git
// by their kind.
func Kinds(kinds ...string) func(Call) bool {
	return func(c Call) bool {
		for _, k := range kinds {
			if strings.HasPrefix(c.Kind, k) {
				return true
			}
		}
		return false
	}
}

// fault returns the fault that hits a request. The caller holds s.mu.
func (s *Server) fault(c Call) *Fault {
	for _, f := range s.faults {
		if f.On == nil && !c.API || f.On != nil && !f.On(c) {
			continue
		}
		if f.Times >= 0 && f.hits >= max(f.Times, 1) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.hits++
		return f
	}
	return nil
}

func (f *Fault) answer(w http.ResponseWriter, q *http.Request, run func() outcome) {
	carryOut := func() (int, http.Header, []byte) {
		o := run()
		return o.status, o.header, o.body
	}
	if f.Late {
		done := run()
		carryOut = func() (int, http.Header, []byte) { return done.status, done.header, done.body }
	}
	f.Answer(w, q, carryOut)
}

// Status answers with a status and GitHub's words.
func Status(code int, message string, header ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ func() (int, http.Header, []byte)) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(code)
		_, _ = w.Write(must(json.Marshal(refuse(code, message).body())))
	}
}

// PrimaryLimit says that the budget is used up until a time (docs: using-the-
// rest-api/rate-limits-for-the-rest-api, "Exceeding the rate limit").
func PrimaryLimit(reset time.Time) Answer {
	return Status(http.StatusForbidden, "API rate limit exceeded for user ID 1.",
		"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Resource", "core",
		"X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// SecondaryLimit says that requests come too fast. Without seconds it does not
// say for how long.
func SecondaryLimit(seconds int) Answer {
	header := []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000"}
	if seconds > 0 {
		header = append(header, "Retry-After", strconv.Itoa(seconds))
	}
	return Status(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", header...)
}

// BadGateway answers as the proxies before GitHub do, not in JSON.
func BadGateway() Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ func() (int, http.Header, []byte)) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><title>Unicorn!</title></html>"))
	}
}

// Reset breaks the connection without an answer.
func Reset() Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ func() (int, http.Header, []byte)) { reset(w) }
}

// Half carries the request out, answers with half of the answer and breaks the
// connection.
func Half() Answer {
	return func(w http.ResponseWriter, _ *http.Request, carryOut func() (int, http.Header, []byte)) {
		status, header, body := carryOut()
		for k, v := range header {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
		w.WriteHeader(status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		reset(w)
	}
}

// Slow carries the request out and lets its answer trickle for a while.
func Slow(d time.Duration) Answer {
	return func(w http.ResponseWriter, q *http.Request, carryOut func() (int, http.Header, []byte)) {
		status, header, body := carryOut()
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		const parts = 10
		for i := range parts {
			if _, err := w.Write(body[i*len(body)/parts : (i+1)*len(body)/parts]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-q.Context().Done():
				return
			case <-time.After(d / parts):
			}
		}
	}
}

// reset ends a connection so that the other side notices.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
