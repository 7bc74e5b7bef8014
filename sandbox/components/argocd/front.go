package main

import (
	"context"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"

	log "github.com/sirupsen/logrus"
)

const headerLimit = 10 * time.Second

// front is the API server's port. It passes on what a user's browser or the
// command line of Argo CD may want, and keeps back what upstream leaves to the
// network of a pod:
//
//   - requests for a name that is not this machine's, which a web page sends
//     that has had its own name resolved to loopback, and changes that a page of
//     another origin asks for;
//   - /extensions.js, which upstream puts together from the files in
//     /tmp/extensions, a folder that every user of the machine can make: it would
//     run in the browser of the user who is signed in;
//   - /api/webhook, which takes events without a signature. Nobody here sends
//     any, see refreshAll.
//
// The API server itself listens within the process.
type front struct {
	inside atomic.Pointer[inProcess]
}

// newInside is the next listener of the API server; requests go to the latest.
func (f *front) newInside() *inProcess {
	l := newInProcess()
	f.inside.Store(l)
	return l
}

func (f *front) dial(ctx context.Context) (net.Conn, error) {
	l := f.inside.Load()
	if l == nil {
		return nil, errors.New("the API server does not listen yet")
	}
	return l.DialContext(ctx)
}

// listen serves until the listener that it returns is closed.
func (f *front) listen(address string) (io.Closer, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC of the command line
	server := &http.Server{Handler: f.handler(), Protocols: &protocols, ReadHeaderTimeout: headerLimit}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.WithError(err).Fatal("the API server's port is gone")
		}
	}()
	return server, nil
}

func (f *front) handler() http.Handler {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return f.dial(ctx) }
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.Handle("/", &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", p.In.Host, p.In.Host
		},
		Transport: byProtocol{
			one: &http.Transport{DialContext: dial, DisableCompression: true},
			two: &http.Transport{DialContext: dial, DisableCompression: true, Protocols: &http2},
		},
		FlushInterval: -1, // the pages follow streams
		// a browser that goes away in the middle of a stream is no news
		ErrorLog: stdlog.New(io.Discard, "", 0),
	})
	mux.HandleFunc("/extensions.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/javascript")
	})
	mux.HandleFunc("/api/webhook", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no webhooks are taken here", http.StatusForbidden)
	})
	return withoutNames(http.NewCrossOriginProtection().Handler(mux))
}

// byProtocol keeps gRPC in HTTP/2.
type byProtocol struct{ one, two http.RoundTripper }

func (t byProtocol) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 {
		return t.two.RoundTrip(r)
	}
	return t.one.RoundTrip(r)
}

// withoutNames refuses requests for a host by another name than localhost: any
// other can have been made to lead here. An address leads where it says. The
// forge has the same.
func withoutNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = strings.Trim(r.Host, "[]") // without a port
		}
		if !strings.EqualFold(name, "localhost") && net.ParseIP(name) == nil {
			http.Error(w, "this server is reached as localhost or by its address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
