package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	etcdStartLimit  = 60 * time.Second
	etcdDeleteLimit = 30 * time.Second
)

// runSandboxEtcd serves a one-member etcd until a signal stops it. All
// clusters of a sandbox share it, each below a prefix of its own.
func runSandboxEtcd(args []string) error {
	fs := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dir := fs.String("data-dir", "", "folder of the data")
	socket := fs.String("socket", "", "socket served to clients")
	noSync := fs.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	remove := fs.String("delete-prefix", "", "delete all keys that begin so in the etcd that serves the socket, and end")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *remove != "" {
		ctx, cancel := context.WithTimeout(context.Background(), etcdDeleteLimit)
		defer cancel()
		return deletePrefix(ctx, *socket, *remove)
	}
	cfg := etcdConfig(*dir, *socket)
	cfg.UnsafeNoFsync = *noSync

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	// who may connect may do everything
	syscall.Umask(0o077)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case <-stop:
		return nil
	case err := <-e.Err():
		return err
	case <-time.After(etcdStartLimit):
		return errors.New("no leader after " + etcdStartLimit.String())
	}
	fmt.Fprintln(os.Stderr, "etcd: ready on", *socket)
	select {
	case <-stop:
		return nil
	case err := <-e.Err():
		return err
	}
}

// deletePrefix deletes keys of the etcd behind a socket.
func deletePrefix(ctx context.Context, socket, prefix string) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdEndpoint(socket)}, Context: ctx})
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Delete(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return fmt.Errorf("delete %s: %w", prefix, err)
	}
	fmt.Fprintf(os.Stderr, "etcd: deleted %d keys below %s\n", r.Deleted, prefix)
	return nil
}

// etcdConfig is an etcd that listens on a socket and nowhere else: a lone member
// has no peers. The URLs that it advertises, which are the defaults, are needed
// to make a new member, and called by nobody; data of a member that was made
// with others keeps those.
func etcdConfig(dir, socket string) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.Name = "default"
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	cfg.ListenPeerUrls = nil
	cfg.EnableGRPCGateway = false
	cfg.LogLevel = "error"
	cfg.AutoCompactionMode = "periodic"
	cfg.AutoCompactionRetention = "10m"
	// A lone member waits for nobody's vote: it may elect itself after a tick or
	// two. With shorter ticks it starts sooner than it is needed, and is busy with
	// ticking for ever.
	cfg.TickMs, cfg.ElectionMs = 50, 500
	return cfg
}

// etcdEndpoint is the address of a socket for etcd's client.
func etcdEndpoint(socket string) string {
	return (&url.URL{Scheme: "unix", Path: socket}).String()
}
