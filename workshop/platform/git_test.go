package platform

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

// TestBlobsAreReadOneByOne has far less in memory than the files are large together.
func TestBlobsAreReadOneByOne(t *testing.T) {
	const files, size = 32, 3 << 20
	dir := t.TempDir()
	gitkit.Run(t, dir, "init", "--quiet")
	noise := rand.NewChaCha8([32]byte{})
	var ids []string
	for i := range files {
		content := make([]byte, size)
		_, _ = noise.Read(content)
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), content, 0o666); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, gitkit.Run(t, dir, "hash-object", "-w", strconv.Itoa(i)))
	}
	before, most, seen := heap(), uint64(0), 0
	err := git{dir: filepath.Join(dir, ".git")}.blobs(t.Context(), ids, func(i int, content []byte) {
		if i != seen || len(content) != size {
			t.Errorf("file %d of %d bytes", i, len(content))
		}
		seen++
		most = max(most, heap())
	})
	if err != nil || seen != files {
		t.Fatalf("%d files, %v", seen, err)
	}
	if most > before+4*size {
		t.Errorf("%d MiB more in memory", (most-before)>>20)
	}
}

// heap is what is in memory and still used.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
