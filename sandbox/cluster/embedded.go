// Package cluster brings up the sandbox's Kubernetes clusters and talks to
// them.
//
// An embedded cluster is the real kube-apiserver, kube-controller-manager and
// kube-scheduler in one child process of the supervisor, on an etcd that all
// embedded clusters share, each below a prefix of its own. It needs no
// container engine. Its node is package node's.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	etcdDeadline         = 60 * time.Second
	controlPlaneDeadline = 90 * time.Second
)

// Embedded makes embedded clusters.
type Embedded struct {
	supervisor.Host        // an API server's listener has its cluster's name
	Dir             string // folder for data and certificates
	Socket          string // etcd's only listener, in a folder that only its user may enter
	// Egress returns a cluster's file for --egress-selector-config-file and its
	// content, or no file where nodes are reached as everything else; may be nil.
	Egress func(name string) (file string, content []byte)
}

// Etcd is the store of all embedded clusters. A user who connects to it is
// the administrator of all of them, whatever their API servers ask for, so it
// listens on no network.
func (e Embedded) Etcd() supervisor.Unit {
	p := e.Process("etcd", e.Dir)
	data := etcdData(filepath.Join(e.Dir, "etcd"))
	healthy := etcdHealth(e.Socket)
	p.Check = func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		return data.answered()
	}
	p.Prepare = func(context.Context) error {
		p.Path = filepath.Join(e.Staged("kube"), "kube")
		p.Argv = []string{"etcd",
			"--data-dir=" + string(data),
			"--socket=" + e.Socket,
		}
		return data.prepare()
	}
	return supervisor.Unit{Name: "etcd", Title: "store of the clusters", Component: p, Deadline: etcdDeadline, Log: p.Log}
}

// ControlPlane is one cluster: API server, controller manager and scheduler.
func (e Embedded) ControlPlane(name string) supervisor.Unit {
	pki := e.pki(name)
	p := e.Process(name, e.Dir)
	p.Prepare = func(context.Context) error {
		p.Path = filepath.Join(e.Staged("kube"), "kube")
		p.Argv = []string{"control-plane",
			"--name=" + name,
			"--pki=" + pki,
			"--port=" + strconv.Itoa(e.Port(name)),
			"--etcd=" + e.Socket,
		}
		if err := e.PortFree(name); err != nil {
			return err
		}
		if err := ensurePKI(pki, name, "https://"+e.Address(name)); err != nil || e.Egress == nil {
			return err
		}
		file, content := e.Egress(name)
		if file == "" {
			return nil
		}
		p.Argv = append(p.Argv, "--egress="+file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	}
	var client *Client // made once, so that a probe is cheap
	p.Check = func(ctx context.Context) error {
		if client == nil {
			c, err := NewClient(e.Kubeconfig(name), "")
			if err != nil {
				return err
			}
			client = c
		}
		return client.Healthy(ctx)
	}
	return supervisor.Unit{Name: name, Title: "Kubernetes cluster " + name, Component: p, Deadline: controlPlaneDeadline, Log: p.Log}
}

// DeleteData removes all objects of a cluster that does not run from etcd, which has
// to run, unless it never did.
func (e Embedded) DeleteData(ctx context.Context, name string) error {
	if _, err := os.Stat(etcdData(filepath.Join(e.Dir, "etcd")).mark()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(e.Staged("kube"), "kube"), "etcd", "--socket="+e.Socket, "--delete-prefix=/"+name+"/")
	cmd.Env, cmd.Dir = e.Env, e.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("delete the objects of cluster %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// Kubeconfig is the file with a cluster's administrator.
func (e Embedded) Kubeconfig(name string) string {
	return filepath.Join(e.pki(name), "admin.kubeconfig")
}

func (e Embedded) pki(name string) string { return filepath.Join(e.Dir, name, "pki") }

// etcdAnswer is the deadline of a health check of etcd.
const etcdAnswer = 5 * time.Second

// etcdHealth checks whether the etcd behind a socket serves.
func etcdHealth(socket string) func(context.Context) error {
	client := &http.Client{Timeout: etcdAnswer, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/health", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("etcd answers %s", response.Status)
		}
		return nil
	}
}

// etcdData is the folder with etcd's data. An etcd that is killed between
// making its log and writing its only member into it starts again without any
// member, and waits for a leader for ever. So data is kept only once an etcd
// has answered from it; before, nothing can have been stored in it.
type etcdData string

func (d etcdData) mark() string { return string(d) + ".answered" }

// prepare makes the folder, empty if no etcd has answered from it yet.
func (d etcdData) prepare() error {
	_, err := os.Stat(d.mark())
	if errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(string(d))
	}
	if err != nil {
		return err
	}
	return os.MkdirAll(string(d), 0o700)
}

// answered notes that the data is whole.
func (d etcdData) answered() error {
	if _, err := os.Stat(d.mark()); err == nil {
		return nil
	}
	return os.WriteFile(d.mark(), nil, 0o600)
}
