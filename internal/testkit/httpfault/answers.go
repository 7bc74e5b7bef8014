package httpfault

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// Text answers with a status and a text of a type. Header has names and values
// in turn.
func Text(status int, contentType, text string, header ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ func() Outcome) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// Page answers with a web page, as proxies and login pages do.
func Page(status int) Answer {
	return Text(status, "text/html", "<html><title>Proxy</title><body>Sign in to the network</body></html>")
}

// Reset breaks the connection without an answer.
func Reset() Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ func() Outcome) { reset(w) }
}

// Half carries the request out, answers with half of the answer and breaks the
// connection.
func Half() Answer {
	return func(w http.ResponseWriter, _ *http.Request, carryOut func() Outcome) {
		o := carryOut()
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Body)+1))
		o.head(w)
		_, _ = w.Write(o.Body[:len(o.Body)/2])
		_ = http.NewResponseController(w).Flush()
		reset(w)
	}
}

// Slow carries the request out and lets its answer trickle for a while.
func Slow(d time.Duration) Answer {
	return func(w http.ResponseWriter, q *http.Request, carryOut func() Outcome) {
		o := carryOut()
		o.head(w)
		const parts = 10
		for i := range parts {
			if _, err := w.Write(o.Body[i*len(o.Body)/parts : (i+1)*len(o.Body)/parts]); err != nil {
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
		panic(http.ErrAbortHandler) // HTTP/2 has no connection to take over
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Silent is a server that takes requests and never answers.
type Silent struct{}

// RoundTrip implements http.RoundTripper.
func (Silent) RoundTrip(q *http.Request) (*http.Response, error) {
	<-q.Context().Done()
	return nil, q.Context().Err()
}
