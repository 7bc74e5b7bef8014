package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// etcdAnswer is how long etcd may take to say how it is.
const etcdAnswer = 5 * time.Second

// etcdHealth asks the etcd behind a socket whether it serves.
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
