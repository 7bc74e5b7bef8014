package components

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The benchmarks need the real payload, which `make build` leaves in the
// folder payload.
func realPayload(b *testing.B) *Payload {
	b.Helper()
	p, err := Open(os.DirFS("payload"))
	if errors.Is(err, ErrNoPayload) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	var size int64
	for _, c := range p.Manifest().Components {
		size += c.UnpackedSize()
	}
	b.SetBytes(size)
	return p
}

// BenchmarkStage unpacks everything.
func BenchmarkStage(b *testing.B) {
	p, dir := realPayload(b), b.TempDir()
	for i := 0; b.Loop(); i++ {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := p.Stage(context.Background(), to); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := os.RemoveAll(to); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkStageAgain checks what is unpacked already, as every start does.
func BenchmarkStageAgain(b *testing.B) {
	p, dir := realPayload(b), b.TempDir()
	if err := p.Stage(context.Background(), dir); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.Stage(context.Background(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
