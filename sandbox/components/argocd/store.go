package main

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/redis/go-redis/v9"
)

// cacheLife is how long what the parts have written for each other is kept, which is
// upstream's setting.
const cacheLife = 24 * time.Hour

// A store is where the parts of Argo CD leave what others of them show: trees
// of resources, generated manifests, revoked logins. It is Redis's protocol,
// spoken within the process. All of it is lost with the process and made again.
type store struct {
	server *miniredis.Miniredis
	pipe   *inProcess
	client *redis.Client
}

func startStore(ctx context.Context) (*store, error) {
	password := rand.Text()
	server, err := startRedis(ctx, "127.0.0.1:0", password)
	if err != nil {
		return nil, err
	}
	// it cannot begin without a port, but serves on without
	server.Server().Close()
	pipe := newInProcess()
	go func() {
		for {
			conn, err := pipe.Accept()
			if err != nil {
				return // closed
			}
			server.Server().ServeConn(conn)
		}
	}()
	// manifests and trees are small here: packing them costs more than it saves
	client := redis.NewClient(&redis.Options{
		Dialer:   func(ctx context.Context, _, _ string) (net.Conn, error) { return pipe.DialContext(ctx) },
		Password: password, MaxRetries: 3,
	})
	return &store{server: server, pipe: pipe, client: client}, nil
}

func startRedis(ctx context.Context, address, password string) (*miniredis.Miniredis, error) {
	server := miniredis.NewMiniRedis()
	server.RequireAuth(password)
	if err := server.StartAddr(address); err != nil {
		return nil, err
	}
	go age(ctx, server)
	return server, nil
}

// ageStep is how precisely entries expire. They live for minutes and more.
const ageStep = 5 * time.Second

// age lets time pass in the store, whose clock stands still otherwise.
func age(ctx context.Context, server *miniredis.Miniredis) {
	tick := time.NewTicker(ageStep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			server.FastForward(ageStep)
		}
	}
}

// cache returns a view of the store for one part.
func (s *store) cache() *cacheutil.Cache {
	return cacheutil.NewCache(cacheutil.NewRedisCache(s.client, cacheLife, cacheutil.RedisCompressionNone))
}

func (s *store) close() {
	_ = s.client.Close()
	_ = s.pipe.Close()
	s.server.Close()
}
