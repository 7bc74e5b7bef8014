package scenarios

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// TestProgressOfSeveralWriters: terminals and pages note steps at the same time, each with
// what it has read at its beginning, and no step is lost.
func TestProgressOfSeveralWriters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenarios", "progress.json")
	info := Info{Workshop: "w", Name: "n"}
	const writers, each = 8, 10
	all := make([]*Progress, writers)
	for w := range all {
		var err error
		if all[w], err = LoadProgress(file); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			info.Steps = append(info.Steps, StepInfo{Title: fmt.Sprint(w, i)})
		}
	}
	var writing sync.WaitGroup
	for w, p := range all {
		writing.Go(func() {
			for i := range each {
				if err := p.Add(info, fmt.Sprint(w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	read, err := LoadProgress(file)
	if err != nil || read.Of(info) != writers*each {
		t.Errorf("%d of %d steps are noted, %v", read.Of(info), writers*each, err)
	}

	// what one forgets, another that has read it before does not bring back
	if err := all[0].Remove(info, "1 1"); err != nil {
		t.Fatal(err)
	}
	if err := all[1].Add(info, "more"); err != nil {
		t.Fatal(err)
	}
	if err := all[2].Reload(); err != nil || all[2].Has(info, "1 1") || !all[2].Has(info, "more") {
		t.Errorf("%v, %v", all[2].Done, err)
	}
	if err := ForgetProgress(file); err != nil {
		t.Fatal(err)
	}
	if err := all[1].Add(info, "again"); err != nil {
		t.Fatal(err)
	}
	if read, err = LoadProgress(file); err != nil || read.Of(info) != 0 || !read.Has(info, "again") {
		t.Errorf("after it was forgotten: %v, %v", read.Done, err)
	}
}
