package main

import (
	"context"
	"testing"
	"time"
)

// The store works, and nobody else reaches it.
func TestStoreIsInMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := startStore(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if a := s.server.Server().Addr(); a != nil {
		t.Errorf("it listens on %s", a)
	}
	if err := s.client.Set(ctx, "key", "value", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.client.Get(ctx, "key").Result(); got != "value" || err != nil {
		t.Errorf("read %q: %v", got, err)
	}
	// what one part of Argo CD publishes for the others
	subscription := s.client.Subscribe(ctx, "channel")
	defer subscription.Close()
	if _, err := subscription.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Publish(ctx, "channel", "news").Err(); err != nil {
		t.Fatal(err)
	}
	if m, err := subscription.ReceiveMessage(ctx); err != nil || m.Payload != "news" {
		t.Errorf("received %v: %v", m, err)
	}
}
