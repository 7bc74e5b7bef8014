package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const etcdStartLimit = 60 * time.Second

// runSandboxEtcd serves a one-member etcd until it is told to stop. All
// clusters of a sandbox share it, each below a prefix of its own.
func runSandboxEtcd(args []string) error {
	fs := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dir := fs.String("data-dir", "", "folder of the data")
	client := fs.String("listen-client-url", "", "URL served to clients")
	peer := fs.String("listen-peer-url", "http://127.0.0.1:0", "URL served to peers")
	noSync := fs.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cu, err := url.Parse(*client)
	if err != nil {
		return fmt.Errorf("--listen-client-url: %w", err)
	}
	pu, err := url.Parse(*peer)
	if err != nil {
		return fmt.Errorf("--listen-peer-url: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = *dir
	cfg.Name = "default"
	cfg.UnsafeNoFsync = *noSync
	cfg.ListenClientUrls = []url.URL{*cu}
	cfg.AdvertiseClientUrls = []url.URL{*cu}
	cfg.ListenPeerUrls = []url.URL{*pu}
	cfg.AdvertisePeerUrls = []url.URL{*pu}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.LogLevel = "error"
	cfg.AutoCompactionMode = "periodic"
	cfg.AutoCompactionRetention = "10m"
	// A lone member waits for nobody's vote: it may elect itself after a tick or
	// two. With shorter ticks it starts sooner than it is needed, and is busy with
	// ticking for ever.
	cfg.TickMs, cfg.ElectionMs = 50, 500

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
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
	fmt.Fprintln(os.Stderr, "etcd: ready on", *client)
	select {
	case <-stop:
		return nil
	case err := <-e.Err():
		return err
	}
}
