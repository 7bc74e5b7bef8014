package sandbox

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/state"
)

func TestArmEndpointStaysAndHasNoSecret(t *testing.T) {
	h := Home(t.TempDir())
	s := &state.State{ID: "1", Workshop: "basic-inference", WebhookSecret: "s3cret", Ports: map[string]int{"arm": 23456}}
	if err := h.Save(s); err != nil {
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
	other := &state.State{WebhookSecret: "other"}
	if other.ArmToken() == token || other.GUID("subscription") == subscription {
		t.Error("two sandboxes share an identity")
	}
}

func TestArmEndpointOfAnOlderSandbox(t *testing.T) {
	h := Home(t.TempDir())
	if err := h.Save(&state.State{Workshop: "basic-inference", Ports: map[string]int{"gitea": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := ArmEndpoint(h); err == nil || !strings.Contains(err.Error(), "kalypso up") {
		t.Errorf("%v", err)
	}
}
