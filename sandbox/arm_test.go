package sandbox

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/loopback"
)

func TestArmEndpointStaysAndTellsNoSecret(t *testing.T) {
	h := Home(t.TempDir())
	s := &State{ID: "1", Workshop: "basic-inference", WebhookSecret: "s3cret", Ports: map[string]int{"arm": 23456}}
	if err := h.saveState(s); err != nil {
		t.Fatal(err)
	}
	url, token, subscription, tenant, err := ArmEndpoint(h)
	if err != nil || url != "http://127.0.0.1:23456" {
		t.Fatalf("%s %v", url, err)
	}
	guid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`)
	if !guid.MatchString(subscription) || !guid.MatchString(tenant) || subscription == tenant {
		t.Errorf("subscription %s, tenant %s", subscription, tenant)
	}
	if token == "" || strings.Contains(token, s.WebhookSecret) || strings.Contains(token, subscription[:8]) {
		t.Errorf("token %s", token)
	}
	if _, again, _, _, err := ArmEndpoint(h); err != nil || again != token {
		t.Errorf("another token: %v", err)
	}
	other := &State{WebhookSecret: "other"}
	if other.armToken() == token || other.guid("subscription") == subscription {
		t.Error("two sandboxes share an identity")
	}
}

func TestArmEndpointOfAnOlderSandbox(t *testing.T) {
	h := Home(t.TempDir())
	if err := h.saveState(&State{Workshop: "basic-inference", Ports: map[string]int{"gitea": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := ArmEndpoint(h); err == nil || !strings.Contains(err.Error(), "kalypso up") {
		t.Errorf("%v", err)
	}
}

func TestServedListensUntilStopped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := &served{address: address, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("stopped before its start: %v", err)
	}
	for range 2 {
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := loopback.Answers(t.Context(), "http://"+address); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		<-c.Exited()
		if err := loopback.Answers(t.Context(), "http://"+address); err == nil {
			t.Error("it answers after its end")
		}
	}
}
