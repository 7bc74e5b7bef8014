package history_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkBackfill reads 10,000 commits with 5,000 assignments and 20,000 versions in a process
// of its own. The limits are 30 s and 350 MB.
func BenchmarkBackfill(b *testing.B) {
	s := newServer(b)
	platform := generate(b, s, 10_000, 50, 100, 20, 200)
	for b.Loop() {
		job := childJob{filepath.Join(b.TempDir(), "hub.db"), filepath.Join(b.TempDir(), "mirrors"), platform.environment("")}
		out, err := child(b, job).Output()
		if err != nil {
			b.Fatal(err)
		}
		var took, memory float64
		if _, err := fmt.Sscan(string(out), &took, &memory); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.ReportMetric(took/1000, "s/backfill")
		b.ReportMetric(memory*1024/1e6, "MB-RSS")
	}
}
