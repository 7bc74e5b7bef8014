package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestNamesOfThePrograms(t *testing.T) {
	for name, want := range map[string]bool{
		"argocd-server": true, "argocd-repo-server": true, "argocd-application-controller": true, "argocd-redis": true,
		"argocd-git-ask-pass": true, "argocd": false, "": false, "argocd-dex": false,
	} {
		command := commandOf(name)
		if (command != nil) != want || want && command.Name() != name {
			t.Errorf("%q is %v", name, command)
		}
	}
}

func TestRedisHasAPassword(t *testing.T) {
	command := redisCommand()
	command.SetArgs([]string{"--listen=127.0.0.1:0"})
	command.SilenceErrors = true
	t.Setenv(passwordVariable, "")
	if err := command.Execute(); err == nil {
		t.Error("it serves everybody")
	}
}

func TestRedisServes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	t.Setenv(passwordVariable, "secret")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	command := redisCommand()
	command.SetArgs([]string{"--listen=" + address})
	go func() { ended <- command.ExecuteContext(ctx) }()
	client := redis.NewClient(&redis.Options{Addr: address, Password: "secret", MaxRetries: 20, MinRetryBackoff: time.Millisecond})
	defer client.Close()
	if err := client.Set(t.Context(), "k", "v", time.Minute).Err(); err != nil {
		t.Error(err)
	}
	anonymous := redis.NewClient(&redis.Options{Addr: address})
	defer anonymous.Close()
	if err := anonymous.Get(t.Context(), "k").Err(); err == nil {
		t.Error("it serves everybody")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
