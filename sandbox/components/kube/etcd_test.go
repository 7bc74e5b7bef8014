package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

func startEtcd(t *testing.T, cfg *embed.Config) *embed.Etcd {
	t.Helper()
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		t.Fatal(err)
	case <-time.After(etcdStartLimit):
		t.Fatal("no leader")
	}
	return e
}

func etcdClient(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Data whose only member was made with ports for clients and peers is served on
// the socket, and only there.
func TestEtcdServesOlderDataOnItsSocketOnly(t *testing.T) {
	dir := t.TempDir()
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "a b,c%20.sock")

	old := etcdConfig(data, socket)
	at := func() url.URL {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return url.URL{Scheme: "http", Host: l.Addr().String()}
	}
	client, peer := at(), at()
	old.ListenClientUrls, old.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	old.ListenPeerUrls, old.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	old.InitialCluster = old.InitialClusterFromName(old.Name)
	e := startEtcd(t, old)
	if _, err := etcdClient(t, client.String()).Put(t.Context(), "/drone/x", "kept"); err != nil {
		t.Fatal(err)
	}
	e.Close()

	e = startEtcd(t, etcdConfig(data, socket))
	defer e.Close()
	if len(e.Peers) != 0 || len(e.Clients) != 1 || e.Clients[0].Addr().Network() != "unix" {
		t.Errorf("listens for peers on %v, for clients on %v", e.Peers, e.Clients)
	}
	for _, u := range []url.URL{client, peer} {
		if c, err := net.DialTimeout("tcp", u.Host, time.Second); err == nil {
			c.Close()
			t.Errorf("%s still takes connections", u.Host)
		}
	}
	c := etcdClient(t, etcdEndpoint(socket))
	r, err := c.Get(t.Context(), "/drone/x")
	if err != nil {
		t.Fatal(err)
	}
	if r.Count != 1 || string(r.Kvs[0].Value) != "kept" {
		t.Errorf("of the older data is there %v", r.Kvs)
	}
	if _, err := c.Put(t.Context(), "/drone/y", "new"); err != nil {
		t.Error(err)
	}
}

// TestDeletePrefix holds that only the keys of one cluster go.
func TestDeletePrefix(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	e := startEtcd(t, etcdConfig(filepath.Join(t.TempDir(), "data"), socket))
	defer e.Close()
	c := etcdClient(t, etcdEndpoint(socket))
	for _, key := range []string{"/drone/a", "/drone/b/c", "/drone-2/a", "/large/a"} {
		if _, err := c.Put(t.Context(), key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing to delete
		if err := runSandboxEtcd([]string{"--socket=" + socket, "--delete-prefix=/drone/"}); err != nil {
			t.Fatal(err)
		}
		r, err := c.Get(t.Context(), "/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, kv := range r.Kvs {
			left = append(left, string(kv.Key))
		}
		if strings.Join(left, " ") != "/drone-2/a /large/a" {
			t.Errorf("left are %q", left)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := deletePrefix(short, filepath.Join(t.TempDir(), "none.sock"), "/drone/"); err == nil {
		t.Error("deleted in an etcd that is not there")
	}
}

func TestEtcdHasNoGateway(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	// what was there is of an earlier run
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEtcd(t, etcdConfig(filepath.Join(t.TempDir(), "data"), socket))
	defer e.Close()
	client := &http.Client{Transport: &http.Transport{Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{"/health": http.StatusOK, "/v3/kv/put": http.StatusNotFound, "/v3/kv/range": http.StatusNotFound, "/raft": http.StatusNotFound, "/members": http.StatusNotFound} {
		r, err := client.Get("http://etcd" + path)
		if path != "/health" {
			r, err = client.Post("http://etcd"+path, "text/plain", strings.NewReader(`{"key":"AA==","value":"AA=="}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, r.StatusCode, want)
		}
	}
}
