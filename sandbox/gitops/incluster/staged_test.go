package incluster

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// staged makes a folder of a component: the files of testdata, and a program
// with the content.
func staged(t *testing.T, name, content string) func() string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("testdata", name)
	if _, err := os.Stat(from); err == nil {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), append(header(t), content...), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() string { return dir }
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
	return Flux{Staged: staged(t, "flux", "program"), Relay: staged(t, "relay", "program"), ForgePort: 20003}
}

func testArgoCD(t *testing.T) ArgoCD {
	if runtime.GOOS != "linux" {
		t.Skip("git for the image is on Linux machines only")
	}
	return ArgoCD{
		Staged: staged(t, "argocd", "program"), Relay: staged(t, "relay", "program"), ForgePort: 20003,
		URL: "https://localhost:20004", Password: "correct-horse",
	}
}
