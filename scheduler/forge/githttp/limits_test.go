package githttp_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
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
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/kalypso-dev/kalypso/scheduler/forge/githttp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// packer writes packs that no git would.
type packer struct {
	bytes.Buffer
	count uint32
}

// entry appends an object of a type with a declared size. What comes between
// the header and the content names the base of a delta.
func (p *packer) entry(kind plumbing.ObjectType, declared uint64, between, content []byte) (offset int) {
	offset = 12 + p.Len()
	b := byte(kind)<<4 | byte(declared&15)
	for declared >>= 4; declared > 0; declared >>= 7 {
		p.WriteByte(b | 0x80)
		b = byte(declared & 127)
	}
	p.WriteByte(b)
	p.Write(between)
	z := zlib.NewWriter(p)
	_, _ = z.Write(content)
	_ = z.Close()
	p.count++
	return offset
}

func (p *packer) object(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	p.entry(kind, uint64(len(content)), nil, content)
	return plumbing.ComputeHash(kind, content)
}

func (p *packer) delta(base plumbing.Hash, delta []byte) {
	p.entry(plumbing.REFDeltaObject, uint64(len(delta)), base[:], delta)
}

// tree makes a folder of files, or of folders where mode says so.
func (p *packer) tree(mode string, of plumbing.Hash, names ...string) plumbing.Hash {
	var b bytes.Buffer
	for _, name := range names {
		b.WriteString(mode + " " + name + "\x00")
		b.Write(of[:])
	}
	return p.object(plumbing.TreeObject, b.Bytes())
}

func (p *packer) commit(tree plumbing.Hash) plumbing.Hash {
	return p.object(plumbing.CommitObject, fmt.Appendf(nil, "tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n", tree))
}

// pack is all of it, with the count that it has or another.
func (p *packer) pack(count uint32) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	pack = append(pack, p.Bytes()...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// copies is a delta that makes size bytes of a base by copying its beginning.
func copies(base, size uint64) []byte {
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, base), size)
	for ; size > 0; size -= min(size, base, 1<<24-1) {
		n := min(size, base, 1<<24-1)
		delta = append(delta, 0xf0, byte(n), byte(n>>8), byte(n>>16))
	}
	return delta
}

// hostile serves one pack, whatever it is asked for, and more branches than one
// when told to.
func hostile(t testing.TB, head plumbing.Hash, branches int, pack []byte) githttp.Remote {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := pktline.NewEncoder(w)
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			_ = e.EncodeString("NAK\n")
			_, _ = w.Write(pack)
			return
		}
		_ = e.EncodeString("# service=git-upload-pack\n")
		_ = e.Flush()
		_ = e.Encodef("%s HEAD\x00ofs-delta\n", head)
		_ = e.Encodef("%s refs/heads/main\n", head)
		for i := range branches {
			if e.Encodef("%s refs/heads/%0200d\n", head, i) != nil {
				return
			}
		}
		_ = e.Flush()
	}))
	t.Cleanup(s.Close)
	return githttp.Remote{URL: s.URL + "/app.git"}
}

// worlds are small packs that stand for much. Beyond a limit is what the name
// says; the others are read, without what nobody needs.
func worlds() map[string]struct {
	pack     []byte
	head     plumbing.Hash
	branches int
	beyond   string // of LimitError.What, "" when it can be read
	fails    bool
} {
	type world = struct {
		pack     []byte
		head     plumbing.Hash
		branches int
		beyond   string
		fails    bool
	}
	all := map[string]world{}
	add := func(name, beyond string, fails bool, make func(p *packer) plumbing.Hash) {
		p := new(packer)
		head := make(p)
		all[name] = world{pack: p.pack(p.count), head: head, beyond: beyond, fails: fails}
	}
	names := func(n, length int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0*d.yaml", length-5, i)
		}
		return list
	}
	zeros := make([]byte, 64<<20)
	add("a large file of zeros", "", false, func(p *packer) plumbing.Hash {
		return p.commit(p.tree("100644", p.object(plumbing.BlobObject, zeros), "zeros.yaml"))
	})
	add("long names in many folders", "bytes of paths", true, func(p *packer) plumbing.Hash {
		files := p.tree("100644", p.object(plumbing.BlobObject, nil), names(500, 2000)...)
		return p.commit(p.tree("40000", files, names(500, 2000)...))
	})
	add("more files than there are", "files and folders", true, func(p *packer) plumbing.Hash {
		of, mode := p.object(plumbing.BlobObject, nil), "100644"
		for range 7 {
			of, mode = p.tree(mode, of, names(10, 7)...), "40000"
		}
		return p.commit(of)
	})
	add("empty folders in folders", "files and folders", true, func(p *packer) plumbing.Hash {
		of := p.tree("40000", plumbing.ZeroHash)
		for range 30 {
			of = p.tree("40000", of, "a", "b", "c")
		}
		return p.commit(of)
	})
	add("folders in each other", "folders in each other", true, func(p *packer) plumbing.Hash {
		of := p.tree("100644", p.object(plumbing.BlobObject, nil), "x.yaml")
		for range 40_000 {
			of = p.tree("40000", of, "d")
		}
		return p.commit(of)
	})
	add("a long path", "bytes in one path", true, func(p *packer) plumbing.Hash {
		return p.commit(p.tree("100644", p.object(plumbing.BlobObject, nil), strings.Repeat("x", 5000)))
	})
	add("files that matter", "bytes in files that may be the platform's", true, func(p *packer) plumbing.Hash {
		var b bytes.Buffer
		for i := range 20 {
			blob := p.object(plumbing.BlobObject, append(zeros[:4<<20:4<<20], byte(i)))
			fmt.Fprintf(&b, "100644 %03d.yaml\x00", i)
			b.Write(blob[:])
		}
		return p.commit(p.object(plumbing.TreeObject, b.Bytes()))
	})
	add("a delta that copies", "", false, func(p *packer) plumbing.Hash {
		base := p.object(plumbing.BlobObject, zeros[:1<<20])
		p.delta(base, copies(1<<20, 512<<20))
		return p.commit(p.tree("100644", plumbing.ComputeHash(plumbing.BlobObject, zeros), "a.yaml"))
	})
	add("a chain of deltas that copy", "", false, func(p *packer) plumbing.Hash {
		base, size := p.object(plumbing.BlobObject, zeros[:1<<10]), 1<<10
		for ; size < 1<<25; size *= 2 {
			p.delta(base, copies(uint64(size), uint64(size)*2))
			base = plumbing.ComputeHash(plumbing.BlobObject, zeros[:size*2])
		}
		return p.commit(p.tree("100644", base, "a.yaml"))
	})
	add("many deltas of one base", "bytes in all its objects", true, func(p *packer) plumbing.Hash {
		const size = 16 << 20
		base := p.object(plumbing.BlobObject, zeros[:size])
		for range 300 {
			p.delta(base, copies(size, size))
		}
		return p.commit(p.tree("100644", base, "a.yaml"))
	})
	add("a declared size that is not true", "", true, func(p *packer) plumbing.Hash {
		p.entry(plumbing.BlobObject, 1<<29, nil, []byte("x"))
		return p.commit(p.tree("100644", p.object(plumbing.BlobObject, nil), "a.yaml"))
	})
	add("a delta whose declared size is not true", "", true, func(p *packer) plumbing.Hash {
		base := p.object(plumbing.BlobObject, []byte("x"))
		p.entry(plumbing.REFDeltaObject, 1<<29, base[:], []byte("x"))
		return p.commit(p.tree("100644", base, "a.yaml"))
	})
	add("a size that is no number", "", true, func(p *packer) plumbing.Hash {
		p.entry(plumbing.BlobObject, 1<<63, nil, []byte("x"))
		return p.commit(p.tree("100644", p.object(plumbing.BlobObject, nil), "a.yaml"))
	})
	p := new(packer)
	head := p.commit(p.tree("100644", p.object(plumbing.BlobObject, nil), "a.yaml"))
	all["more objects than are sent"] = world{pack: p.pack(1 << 31), head: head, beyond: "objects", fails: true}
	all["more branches than anybody has"] = world{pack: p.pack(p.count), head: head, branches: 1 << 20, beyond: "bytes in the list of its branches", fails: true}
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
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			remote := hostile(t, world.head, world.branches, world.pack)
			c := githttp.New(&http.Client{}, 1<<20)
			var tree *model.Tree
			var err error
			peak := peakHeap(func() { tree, err = c.Tree(context.Background(), remote, "main", "") })
			if peak > 2*githttp.MaxRead {
				t.Errorf("took %d MiB", peak>>20)
			}
			var limit *model.LimitError
			if (err != nil) != world.fails || errors.As(err, &limit) != (world.beyond != "") || limit != nil && (limit.What != world.beyond || limit.Max <= 0 || limit.Hint == "") {
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
	p := new(packer)
	var files bytes.Buffer
	for i := range 8 {
		content := make([]byte, 6<<20)
		_, _ = random.Read(content)
		blob := p.object(plumbing.BlobObject, content)
		fmt.Fprintf(&files, "100644 %03d.yaml\x00", i)
		files.Write(blob[:])
	}
	head := p.commit(p.object(plumbing.TreeObject, files.Bytes()))
	remote := hostile(b, head, 0, p.pack(p.count))
	for b.Loop() {
		peak := peakHeap(func() {
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if _, err := githttp.New(&http.Client{}, 1).Tree(context.Background(), remote, "main", ""); err != nil {
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
			s.git(work, "config", "core.compression", "0")
			s.git(work, "config", "core.bigFileThreshold", "1m")
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
			c := githttp.New(&http.Client{}, 1<<20)
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
