package gitclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitpack"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// hostile serves one pack, whatever it is asked for, and more branches than one
// when asked to.
func hostile(t testing.TB, head plumbing.Hash, branches int, pack []byte) gitclient.Remote {
	t.Helper()
	s := httptest.NewServer(gitpack.Handler(head, branches, pack))
	t.Cleanup(s.Close)
	return gitclient.Remote{URL: s.URL + "/app.git"}
}

// hostileRepos are small packs that stand for much. Beyond a limit is what the name
// says; the others are read, without what nobody needs.
func hostileRepos() map[string]struct {
	pack     []byte
	head     plumbing.Hash
	branches int
	beyond   string // of LimitError.What, "" when it can be read
	fails    bool
} {
	type hostileRepo = struct {
		pack     []byte
		head     plumbing.Hash
		branches int
		beyond   string
		fails    bool
	}
	all := map[string]hostileRepo{}
	add := func(name, beyond string, fails bool, make func(p *gitpack.Packer) plumbing.Hash) {
		p := new(gitpack.Packer)
		head := make(p)
		all[name] = hostileRepo{pack: p.Pack(p.Count()), head: head, beyond: beyond, fails: fails}
	}
	zeros := make([]byte, 64<<20)
	add("a large file of zeros", "", false, func(p *gitpack.Packer) plumbing.Hash {
		return p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, zeros), "zeros.yaml"))
	})
	add("long names in many folders", "bytes of paths", true, func(p *gitpack.Packer) plumbing.Hash {
		files := p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), gitpack.Names(500, 2000)...)
		return p.Commit(p.Tree(gitpack.Folder, files, gitpack.Names(500, 2000)...))
	})
	add("more files than there are", "files and folders", true, func(p *gitpack.Packer) plumbing.Hash {
		of, mode := p.Object(plumbing.BlobObject, nil), gitpack.File
		for range 7 {
			of, mode = p.Tree(mode, of, gitpack.Names(10, 7)...), gitpack.Folder
		}
		return p.Commit(of)
	})
	add("empty folders in folders", "files and folders", true, func(p *gitpack.Packer) plumbing.Hash {
		of := p.Tree(gitpack.Folder, plumbing.ZeroHash)
		for range 30 {
			of = p.Tree(gitpack.Folder, of, "a", "b", "c")
		}
		return p.Commit(of)
	})
	add("folders in each other", "folders in each other", true, func(p *gitpack.Packer) plumbing.Hash {
		of := p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), "x.yaml")
		for range 10_000 {
			of = p.Tree(gitpack.Folder, of, "d")
		}
		return p.Commit(of)
	})
	add("a long path", "bytes in one path", true, func(p *gitpack.Packer) plumbing.Hash {
		return p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), strings.Repeat("x", 5000)))
	})
	add("files that matter", "bytes in files that may be the platform's", true, func(p *gitpack.Packer) plumbing.Hash {
		var blobs []plumbing.Hash
		for i := range 20 {
			blobs = append(blobs, p.Object(plumbing.BlobObject, append(zeros[:4<<20:4<<20], byte(i))))
		}
		return p.Commit(p.Files(blobs...))
	})
	add("a delta that copies", "", false, func(p *gitpack.Packer) plumbing.Hash {
		base := p.Object(plumbing.BlobObject, zeros[:1<<20])
		p.Delta(base, gitpack.Copies(1<<20, 512<<20))
		return p.Commit(p.Tree(gitpack.File, plumbing.ComputeHash(plumbing.BlobObject, zeros), "a.yaml"))
	})
	add("a chain of deltas that copy", "", false, func(p *gitpack.Packer) plumbing.Hash {
		base, size := p.Object(plumbing.BlobObject, zeros[:1<<10]), 1<<10
		for ; size < 1<<25; size *= 2 {
			p.Delta(base, gitpack.Copies(uint64(size), uint64(size)*2))
			base = plumbing.ComputeHash(plumbing.BlobObject, zeros[:size*2])
		}
		return p.Commit(p.Tree(gitpack.File, base, "a.yaml"))
	})
	add("many deltas of one base", "bytes in all its objects", true, func(p *gitpack.Packer) plumbing.Hash {
		const size = 16 << 20
		base := p.Object(plumbing.BlobObject, zeros[:size])
		for range 70 { // 64 would be the limit
			p.Delta(base, gitpack.Copies(size, size))
		}
		return p.Commit(p.Tree(gitpack.File, base, "a.yaml"))
	})
	add("a declared size that is not true", "", true, func(p *gitpack.Packer) plumbing.Hash {
		p.Entry(plumbing.BlobObject, 1<<29, nil, []byte("x"))
		return p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), "a.yaml"))
	})
	add("a delta whose declared size is not true", "", true, func(p *gitpack.Packer) plumbing.Hash {
		base := p.Object(plumbing.BlobObject, []byte("x"))
		p.Entry(plumbing.REFDeltaObject, 1<<29, base[:], []byte("x"))
		return p.Commit(p.Tree(gitpack.File, base, "a.yaml"))
	})
	add("a size that is no number", "", true, func(p *gitpack.Packer) plumbing.Hash {
		p.Entry(plumbing.BlobObject, 1<<63, nil, []byte("x"))
		return p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), "a.yaml"))
	})
	p := new(gitpack.Packer)
	head := p.Commit(p.Tree(gitpack.File, p.Object(plumbing.BlobObject, nil), "a.yaml"))
	all["more objects than are sent"] = hostileRepo{pack: p.Pack(1 << 31), head: head, beyond: "objects", fails: true}
	all["more branches than anybody has"] = hostileRepo{pack: p.Pack(p.Count()), head: head, branches: 1 << 18, beyond: "bytes in the list of its branches", fails: true}
	return all
}

// peakHeap returns the most memory that was in use on the heap while do ran,
// garbage included, above what there was before.
func peakHeap(do func()) uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtime.GC()
	metrics.Read(sample)
	before, peak := sample[0].Value.Uint64(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return peak - min(peak, before)
}

// TestSmallPacksThatStandForMuch reads packs of a few kilobytes, most of them,
// that would take gigabytes. What is beyond a limit says which.
func TestSmallPacksThatStandForMuch(t *testing.T) {
	for name, repo := range hostileRepos() {
		t.Run(name, func(t *testing.T) {
			remote := hostile(t, repo.head, repo.branches, repo.pack)
			c := gitclient.New(&http.Client{}, 1<<20)
			var tree *model.Tree
			var err error
			peak := peakHeap(func() { tree, err = c.Tree(context.Background(), remote, "main", "") })
			if peak > 2*gitclient.MaxRead {
				t.Errorf("took %d MiB", peak>>20)
			}
			var limit *model.LimitError
			if (err != nil) != repo.fails || errors.As(err, &limit) != (repo.beyond != "") || limit != nil && (limit.What != repo.beyond || limit.Max <= 0 || limit.Hint == "") {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				for file, content := range tree.Files {
					if content != nil {
						t.Errorf("%s has %d bytes", file, len(content))
					}
				}
			}
		})
	}
}

// BenchmarkManyLargeReads reads many repositories side by side of which each
// is below the limits, and says how much memory they take together.
func BenchmarkManyLargeReads(b *testing.B) {
	random := rand.NewChaCha8([32]byte{})
	p := new(gitpack.Packer)
	var blobs []plumbing.Hash
	for range 8 {
		content := make([]byte, 6<<20)
		_, _ = random.Read(content)
		blobs = append(blobs, p.Object(plumbing.BlobObject, content))
	}
	head := p.Commit(p.Files(blobs...))
	remote := hostile(b, head, 0, p.Pack(p.Count()))
	for b.Loop() {
		peak := peakHeap(func() {
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if _, err := gitclient.New(&http.Client{}, 1).Tree(context.Background(), remote, "main", ""); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
		})
		b.ReportMetric(float64(peak>>20), "peak-MiB")
	}
}

// TestLargeFilesBesideManifests reads a repository with much in it that nobody
// needs, from servers that can leave something out and from one that cannot.
func TestLargeFilesBesideManifests(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	noise := func(size int) string {
		content := make([]byte, size)
		_, _ = random.Read(content)
		return string(content)
	}
	for _, config := range [][]string{nil, {"uploadpack.allowFilter"}, {"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"}} {
		t.Run(fmt.Sprint(config), func(t *testing.T) {
			s := newServer(t)
			remote, work := s.create("app")
			for _, name := range config {
				s.git(filepath.Join(s.root, "app.git"), "config", name, "true")
			}
			for _, dir := range []string{work, filepath.Join(s.root, "app.git")} { // noise packs badly, and slowly
				s.git(dir, "config", "core.compression", "0")
				s.git(dir, "config", "core.bigFileThreshold", "1m")
			}
			writeFile(t, filepath.Join(work, "deploy", "workload.yaml"), "kind: Workload\n")
			writeFile(t, filepath.Join(work, "empty.yaml"), "")
			writeFile(t, filepath.Join(work, "main.go"), "package main\n")
			writeFile(t, filepath.Join(work, "video.mp4"), noise(20<<20))
			head := s.push(work, "main", "1")
			check := func(tree *model.Tree, err error, small bool) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				empty, there := tree.Files["empty.yaml"]
				video, listed := tree.Files["video.mp4"]
				if string(tree.Files["deploy/workload.yaml"]) != "kind: Workload\n" || !there || empty == nil || len(empty) > 0 || !listed || video != nil || (tree.Files["main.go"] != nil) != small {
					t.Errorf("%v", tree.Files)
				}
			}
			c := gitclient.New(&http.Client{}, 1<<20)
			tree, err := c.Tree(ctx, remote, "main", head)
			check(tree, err, true)

			if len(config) == 1 {
				return
			}
			for i := range 10 {
				writeFile(t, filepath.Join(work, fmt.Sprintf("part%02d.bin", i)), noise(7<<20))
			}
			s.push(work, "main", "2")
			tree, err = c.Tree(ctx, remote, "main", "")
			if len(config) == 2 {
				check(tree, err, false)
				before := s.packs.Load()
				s.push(work, "main", "3")
				tree, err = c.Tree(ctx, remote, "main", "")
				check(tree, err, false)
				if packs := s.packs.Load() - before; packs != 2 {
					t.Errorf("%d requests for packs, want one for the folders and one for the files", packs)
				}
				return
			}
			if !errors.As(err, new(*model.LimitError)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

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
