package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/httpserver"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestShareAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, named := range []string{"0.0.0.0", "[::]:8443", "::", "224.0.0.1", "example.com", "192.0.2.1", "127.0.0.1:x", taken.Addr().String()} {
		var mistake *usage.Error
		if address, err := ShareAddress(named); !errors.As(err, &mistake) {
			t.Errorf("%s: %s, %v", named, address, err)
		}
	}
	address, err := ShareAddress("127.0.0.1")
	if host, port, _ := net.SplitHostPort(address); err != nil || host != "127.0.0.1" || port == "0" {
		t.Errorf("%s, %v", address, err)
	}
	if again, err := ShareAddress(address); err != nil || again != address {
		t.Errorf("with its port: %s, %v", again, err)
	}
	for address, warned := range map[string]bool{"192.168.1.5:1": false, "10.0.0.1:1": false, "127.0.0.1:1": false, "[fd00::1]:1": false, "203.0.113.7:1": true} {
		if (ShareWarning(address) != "") != warned {
			t.Errorf("%s: %q", address, ShareWarning(address))
		}
	}
}

// TestShareCertificate: it is kept for an address, is another one for another, and only the server
// that has it counts as the hub.
func TestShareCertificate(t *testing.T) {
	h := Home(t.TempDir())
	first, err := shareCertificate(h, net.ParseIP("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := shareCertificate(h, net.ParseIP("127.0.0.1"))
	if err != nil || !again.Equal(first) {
		t.Errorf("the second time: %v", err)
	}
	if f := fingerprint(first); len(strings.Split(f, ":")) != 32 || strings.ToUpper(f) != f {
		t.Errorf("fingerprint %s", f)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	file, key := h.ShareCertificate()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() {
		ended <- httpserver.Run(ctx, server, listener, &httpserver.Certificate{CertFile: file, KeyFile: key})
	}()
	defer func() { stop(); <-ended }()
	if err := answersAt(t.Context(), address, first); err != nil {
		t.Error(err)
	}
	other, err := shareCertificate(Home(t.TempDir()), net.ParseIP("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := answersAt(t.Context(), address, other); err == nil {
		t.Error("another server's certificate is taken for the hub's")
	}
	moved, err := shareCertificate(h, net.ParseIP("127.0.0.2"))
	if err != nil || moved.Equal(first) || moved.VerifyHostname("127.0.0.2") != nil {
		t.Errorf("for another address: %v", err)
	}
	if _, err := tls.LoadX509KeyPair(file, key); err != nil {
		t.Error(err)
	}
}

func TestShareIsForgotten(t *testing.T) {
	h := Home(t.TempDir())
	if s, err := h.Share(); s != nil || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if was, err := EndShare(t.Context(), h); was || err != nil {
		t.Errorf("nothing to end: %v, %v", was, err)
	}
	if err := h.SaveShare(&state.Share{Address: "127.0.0.1:1", Token: "t", Fingerprint: "f"}); err != nil {
		t.Fatal(err)
	}
	if s, err := h.Share(); err != nil || s == nil || s.Link() != "https://127.0.0.1:1/enter#t=t" {
		t.Errorf("%+v, %v", s, err)
	}
	if was, err := h.EndShare(); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if s, err := h.Share(); s != nil || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}
