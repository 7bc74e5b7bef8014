package gitclient_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitpack"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// slowly is a transport without a network, whose packs come at some pace.
type slowly struct {
	http.Handler
	next func(sent int) (wait time.Duration, bytes int) // what comes after so much
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	response := w.Result()
	if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
		response.Body = &slowBody{ctx: r.Context(), left: w.Body, next: s.next}
	}
	return response, nil
}

type slowBody struct {
	ctx  context.Context
	left *bytes.Buffer
	sent int
	next func(int) (time.Duration, int)
}

func (b *slowBody) Read(p []byte) (int, error) {
	wait, bytes := b.next(b.sent)
	select {
	case <-time.After(wait):
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	n, err := b.left.Read(p[:min(len(p), bytes)])
	b.sent += n
	return n, err
}

func (b *slowBody) Close() error { return nil }

// TestSlowServers reads a pack of 1 MiB that comes at different paces.
func TestSlowServers(t *testing.T) {
	p := new(gitpack.Packer)
	content := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	head := p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, content), "a.yaml"))
	handler := gitpack.Handler(head, 0, p.Pack(p.Count()))
	for name, test := range map[string]struct {
		next  func(sent int) (time.Duration, int)
		fails time.Duration // when it has at the latest, 0 when it is read
	}{
		"at once": {func(int) (time.Duration, int) { return 0, 1 << 20 }, 0},
		"slowly":  {func(int) (time.Duration, int) { return 300 * time.Millisecond, 4 << 10 }, 0},
		"late": {func(sent int) (time.Duration, int) {
			if sent == 0 {
				return 15 * time.Second, 1 << 20
			}
			return 0, 1 << 20
		}, 0},
		"after preparation": {func(sent int) (time.Duration, int) {
			if sent < 20 {
				return 5 * time.Second, 1
			}
			return 0, 1 << 20
		}, 0},
		"never": {func(int) (time.Duration, int) { return time.Hour, 1 }, 20 * time.Second},
		"not to the end": {func(sent int) (time.Duration, int) {
			if sent > 600<<10 {
				return time.Hour, 1
			}
			return 0, 32 << 10
		}, 20 * time.Second},
		"by drops": {func(sent int) (time.Duration, int) {
			if sent > 600<<10 {
				return time.Second, 1 << 10
			}
			return 0, 32 << 10
		}, time.Minute},
		"by drops from the beginning": {func(int) (time.Duration, int) { return time.Second, 100 }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := gitclient.New(&http.Client{Transport: slowly{handler, test.next}}, 1)
				start := time.Now()
				tree, err := c.Tree(t.Context(), gitclient.Remote{URL: "http://forge.test/app.git"}, "main", "")
				if test.fails > 0 {
					if took := time.Since(start); !errors.Is(err, gitclient.ErrNetwork) || took > test.fails {
						t.Errorf("after %s: %v", took, err)
					}
					return
				}
				if err != nil || !bytes.Equal(tree.Files["a.yaml"], content) {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}
