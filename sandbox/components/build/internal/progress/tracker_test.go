package progress

import (
	"strings"
	"testing"
	"time"
)

// clocked returns a Tracker whose time the test sets.
func clocked() (*Tracker, *time.Time) {
	t, now := New(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t.now = func() time.Time { return now }
	return t, &now
}

func TestTimeLeftFollowsFromTheWork(t *testing.T) {
	tracker, now := clocked()
	tracker.Plan("a", 100)
	tracker.Plan("b", 300)
	if line := tracker.line(); line != "" {
		t.Errorf("says %q when nothing goes on", line)
	}
	tracker.Doing("a", "link")
	if line := tracker.line(); line != " 0%: a link" {
		t.Errorf("says %q", line)
	}
	tracker.Add("a", 1) // from here on time counts
	*now = now.Add(time.Minute)
	tracker.Finish("a")
	if line := tracker.line(); line != "25%, about 3 min left: a link" {
		t.Errorf("says %q", line)
	}
	tracker.Plan("b", 100) // it is less than usual
	tracker.Doing("b", "pack")
	if line := tracker.line(); line != "50%, about 1 min left: a link; b pack" {
		t.Errorf("says %q", line)
	}
	tracker.Doing("a", "")
	tracker.Add("b", 90)
	tracker.Add("b", 90) // no more than there is
	if line := tracker.line(); line != "99%, about 5 s left: b pack" {
		t.Errorf("says %q", line)
	}
}

func TestWhatProgramsShareIsCompiledOnce(t *testing.T) {
	tracker, _ := clocked()
	shared := Source{"shared", "1", 1000}
	one, two := []Source{shared, {"one", "2", 2000}}, []Source{shared, {"two", "3", 3000}}
	tracker.Compile(one)
	tracker.Compile(two)
	if got := tracker.part(compiling).planned; got != 6000+3*perPackage {
		t.Errorf("planned %v", got)
	}
	tracker.Compiled(one...)
	tracker.Compiled(shared, Source{"unknown", "9", 1})
	if got := tracker.part(compiling).done; got != 3000+2*perPackage {
		t.Errorf("done %v", got)
	}
	if n := tracker.Waiting(two); n != 1 {
		t.Errorf("%d of the second program's packages are to be compiled", n)
	}
}

func TestRead(t *testing.T) {
	const list = `{"ImportPath":"b","Dir":"/b","Stale":%STALE%,"GoFiles":["b.go"]}
{"ImportPath":"a","Dir":"/a","Imports":["x/b"],"ImportMap":{"x/b":"b"},"Stale":true,"StaleReason":"not installed but available in build cache","GoFiles":["a.go"]}`
	read := func(list, settings string) (all, stale []Source) {
		all, stale, err := Read([]byte(list), settings)
		if err != nil || len(all) != 2 || all[1].Path != "a" {
			t.Fatalf("%v, error %v", all, err)
		}
		return all, stale
	}
	all, stale := read(strings.Replace(list, "%STALE%", "true", 1), "linux")
	if len(stale) != 1 || stale[0].Path != "b" {
		t.Errorf("%v are to be compiled", stale)
	}
	other, stale := read(strings.Replace(list, "%STALE%", "false", 1), "darwin")
	if len(stale) != 0 || other[0].Key == all[0].Key || other[1].Key == all[1].Key {
		t.Errorf("%v are to be compiled", stale)
	}
	// what a package imports decides what it is compiled to
	changed, _ := read(strings.Replace(strings.Replace(list, "%STALE%", "true", 1), "b.go", "c.go", 1), "linux")
	if changed[1].Key == all[1].Key {
		t.Error("the package that imports a changed one has the same key")
	}
	if _, _, err := Read([]byte("go: nonsense"), ""); err == nil {
		t.Error("nonsense was read")
	}
}
