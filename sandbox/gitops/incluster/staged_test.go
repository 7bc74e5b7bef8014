package incluster

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// testHost has components: the files of testdata, and a program each.
func testHost(t *testing.T, components ...string) supervisor.Host {
	folders := map[string]string{}
	for _, name := range components {
		folders[name] = staged(t, name)
	}
	return supervisor.Host{Staged: func(name string) string { return folders[name] }, Port: func(string) int { return 20003 }}
}

func staged(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("testdata", name)
	if _, err := os.Stat(from); err == nil {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), append(header(t), "program"...), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// header is how a program for this machine begins that needs no libraries.
func header(t *testing.T) []byte {
	t.Helper()
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if machine == 0 {
		t.Skipf("images for %s are not known", runtime.GOARCH)
	}
	h := elf.Header64{
		Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(machine),
		Version: uint32(elf.EV_CURRENT),
		Ehsize:  64,
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testFlux(t *testing.T) Flux {
	return Flux{testHost(t, "flux", "relay")}
}

func testArgoCD(t *testing.T) ArgoCD {
	if runtime.GOOS != "linux" {
		t.Skip("git for the image is on Linux machines only")
	}
	return ArgoCD{
		Host: testHost(t, "argocd", "relay"),
		URL:  "https://localhost:20004", Password: "correct-horse",
	}
}

// Objects are all that Install puts on the cluster.
func (f Flux) Objects(context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := f.manifests()
	if err != nil {
		return nil, err
	}
	kinds, err := gitops.Kinds(f.kinds())
	return append(objects, kinds...), err
}

// Objects are all that Install puts on the cluster. The secrets have nothing in
// them.
func (a ArgoCD) Objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	settings, err := a.settings().Settings()
	if err != nil {
		return nil, err
	}
	kinds, err := gitops.Kinds(a.settings().Kinds)
	if err != nil {
		return nil, err
	}
	objects, err := a.manifests(ctx)
	return slices.Concat(settings, []*unstructured.Unstructured{cacheSecret("")}, objects, kinds), err
}
