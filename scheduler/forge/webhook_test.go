package forge_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

const secret = "secret"

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// watched is a body that reports whether it is read.
type watched struct {
	io.Reader
	read atomic.Bool
}

func (w *watched) Read(b []byte) (int, error) {
	w.read.Store(true)
	return w.Reader.Read(b)
}

func TestWebhooks(t *testing.T) {
	body := []byte(`{"ref":"refs/heads/dev"}`)
	large := bytes.Repeat([]byte(" "), forge.MaxWebhook+1)
	whole := large[:forge.MaxWebhook]
	for _, test := range []struct {
		name, secret, header, signature string
		body                            []byte
		chunked                         bool // its length is not said
		want                            int
		read                            bool
	}{
		{"Gitea's", secret, "X-Gitea-Signature", sign(body), body, false, http.StatusOK, true},
		{"GitHub's", secret, "X-Hub-Signature-256", "sha256=" + sign(body), body, false, http.StatusOK, true},
		{"chunked", secret, "X-Gitea-Signature", sign(body), body, true, http.StatusOK, true},
		{"as large as it may be", secret, "X-Gitea-Signature", sign(whole), whole, false, http.StatusOK, true},
		{"of another body", secret, "X-Gitea-Signature", sign(nil), body, false, http.StatusForbidden, true},
		{"missing", secret, "X-Other", "", body, false, http.StatusForbidden, false},
		{"cut", secret, "X-Gitea-Signature", sign(body)[:62], body, false, http.StatusForbidden, false},
		{"long", secret, "X-Gitea-Signature", sign(body) + "00", body, false, http.StatusForbidden, false},
		{"no hex", secret, "X-Hub-Signature-256", "sha256=" + strings.Repeat("z", 64), body, false, http.StatusForbidden, false},
		{"no secret", "", "X-Gitea-Signature", sign(body), body, false, http.StatusForbidden, false},
		{"too large", secret, "X-Gitea-Signature", sign(large), large, false, http.StatusRequestEntityTooLarge, false},
		{"too large, chunked", secret, "X-Gitea-Signature", sign(large), large, true, http.StatusRequestEntityTooLarge, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var taken []byte
			refused := 0
			h := forge.Webhooks(test.secret, func(_ *http.Request, status int, _ string) { refused = status },
				func(_ http.ResponseWriter, _ *http.Request, body []byte) { taken = body })
			sent := &watched{Reader: bytes.NewReader(test.body)}
			r := httptest.NewRequest(http.MethodPost, "/webhook", sent)
			r.Header.Set(test.header, test.signature)
			if r.ContentLength = int64(len(test.body)); test.chunked {
				r.ContentLength = -1
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			if answer.Code != test.want || sent.read.Load() != test.read {
				t.Errorf("answered %d, the body was read: %t; want %d, %t", answer.Code, sent.read.Load(), test.want, test.read)
			}
			if ok := test.want == http.StatusOK; ok != bytes.Equal(taken, test.body) || ok == (refused == test.want) {
				t.Errorf("%d bytes were taken, refused with %d", len(taken), refused)
			}
		})
	}
}

// TestFewWebhooksAtOnce has many bodies that do not end.
func TestFewWebhooksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := forge.Webhooks(secret, nil, func(http.ResponseWriter, *http.Request, []byte) {})
		var reading atomic.Int32
		var all sync.WaitGroup
		hang := make(chan struct{})
		for range 150 {
			all.Go(func() {
				body := &watched{Reader: readerFunc(func([]byte) (int, error) {
					<-hang
					return 0, io.ErrUnexpectedEOF
				})}
				r := httptest.NewRequest(http.MethodPost, "/webhook", body)
				r.Header.Set("X-Gitea-Signature", sign(nil))
				answer := httptest.NewRecorder()
				h.ServeHTTP(answer, r)
				want := http.StatusServiceUnavailable
				if body.read.Load() {
					reading.Add(1)
					want = http.StatusBadRequest
				}
				if answer.Code != want || want == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") == "" {
					t.Errorf("answered %d %v, want %d", answer.Code, answer.Header(), want)
				}
			})
		}
		time.Sleep(time.Minute)
		close(hang)
		all.Wait()
		if n := reading.Load(); n == 0 || n > 8 {
			t.Errorf("%d bodies were read at once", n)
		}
		r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader("{}"))
		r.Header.Set("X-Gitea-Signature", sign([]byte("{}")))
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, r); answer.Code != http.StatusOK {
			t.Errorf("afterwards: %d", answer.Code)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestSlowWebhook has a body that does not come within its time, on a server
// that has no deadline of its own.
func TestSlowWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		listener := &once{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conn <- conn
		server := &http.Server{Handler: forge.Webhooks(secret, nil, func(http.ResponseWriter, *http.Request, []byte) {
			t.Error("taken")
		})}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		began := time.Now()
		_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nX-Gitea-Signature: "+sign(nil)+"\r\n\r\n{")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(client)
		if took := time.Since(began); took > 15*time.Second || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("after %s: %q, %v", took, answer, err)
		}
		if err := errors.Join(server.Shutdown(context.Background()), client.Close()); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// once is a listener for one connection.
type once struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *once) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *once) Close() error   { close(l.closed); return nil }
func (l *once) Addr() net.Addr { return &net.UnixAddr{Name: "once"} }

// BenchmarkWebhookFlood measures what 150 webhooks of 8 MiB at once take of memory.
func BenchmarkWebhookFlood(b *testing.B) {
	for name, signature := range map[string]string{"unsigned": "", "wrong": sign([]byte("other"))} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(forge.Webhooks(secret, nil, func(http.ResponseWriter, *http.Request, []byte) {}))
			defer server.Close()
			most := peak(func() {
				for b.Loop() {
					flood(b, server.URL, signature)
				}
			})
			b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
		})
	}
}

// flood posts as many bodies at once. They share the memory of one.
func flood(b *testing.B, url, signature string) {
	body := make([]byte, forge.MaxWebhook)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range 150 {
		all.Go(func() {
			r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("X-Gitea-Signature", signature)
			// the server may close the connection before the body is sent
			if answer, err := client.Do(r); err == nil {
				answer.Body.Close()
			}
		})
	}
	all.Wait()
}

// peak is the most heap in use while do runs.
func peak(do func()) (most uint64) {
	runtime.GC()
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	do()
	close(done)
	watch.Wait()
	return most
}
