package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTimesOfLines(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("X", 2*3600)
	defer func() { time.Local = zone }()
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.Local)
	for line, want := range map[string]string{
		`time=2025-03-01T03:50:47.378Z level=INFO msg=ready`:                         "2025-03-01T03:50:47.378Z",
		`{"level":"error","ts":"2025-03-01T03:50:49.545945Z","caller":"v.go:1"}`:     "2025-03-01T03:50:49.545945Z",
		`{"level":"info","ts":"2025-03-01T03:51:03.785Z","msg":"\"ts\":\"nonsense"}`: "2025-03-01T03:51:03.785Z",
		`{"time":"2025-03-01T03:51:03Z","level":"INFO"}`:                             "2025-03-01T03:51:03Z",
		`I0301 03:50:49.588763    3080 options.go:263] external host`:                "2025-03-01T01:50:49.588763Z",
		`W1231 23:00:00.000000    3080 logging.go:55] of the year before`:            "2024-12-31T21:00:00Z",
		`2025/03/01 03:50:54 cmd/web.go:263:runWeb() [I] Starting Gitea`:             "2025-03-01T01:50:54Z",
		`2025-03-01T03:50:54+01:00 something`:                                        "2025-03-01T02:50:54Z",
		``:                                                                           "",
		`etcd: ready on http://127.0.0.1:2`:                                          "",
		`panic: runtime error`:                                                       "",
		`Info 0301`:                                                                  "",
		`I0301 03:50:49`:                                                             "",
		`time=yesterday level=INFO`:                                                  "",
		`{"level":"error","msg":"no time"}`:                                          "",
		`  at main.go 2025-03-01T03:50:54Z`:                                          "",
		`{"a":"` + strings.Repeat("x", 200) + `","ts":"2025-03-01T03:50:54Z"}`:       "",
	} {
		got, ok := lineTime([]byte(line), now)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %v, %v, want %q", line, got.UTC(), ok, want)
		}
	}
}

func FuzzTimesOfLines(f *testing.F) {
	f.Add([]byte("I0229 03:50:49.588763 x"))
	f.Add([]byte(`{"ts":"`))
	f.Add([]byte("time="))
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line []byte) {
		if at, ok := lineTime(line, now); !ok && !at.IsZero() {
			t.Errorf("%q: %v without being found", line, at)
		}
	})
}

func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gitea.log")
	now := time.Now()
	at := func(ago time.Duration, text string) string {
		return "time=" + now.Add(-ago).UTC().Format(time.RFC3339Nano) + " " + text + "\n"
	}
	writeTo(t, path+".1", at(3*time.Hour, "a")+"  of a\n"+at(2*time.Hour, "b"))
	writeTo(t, path, at(time.Hour, "c")+"  of c\n"+at(time.Minute, "d")+"  of d, unfinished")
	for _, c := range []struct {
		name string
		q    LogQuery
		want string
	}{
		{"all", LogQuery{Lines: -1}, "a,of a,b,c,of c,d,of d, unfinished"},
		{"none", LogQuery{Lines: 0}, ""},
		{"the last", LogQuery{Lines: 1}, "of d, unfinished"},
		{"over both files", LogQuery{Lines: 5}, "b,c,of c,d,of d, unfinished"},
		{"more than there are", LogQuery{Lines: 50}, "a,of a,b,c,of c,d,of d, unfinished"},
		{"since", LogQuery{Lines: -1, Since: now.Add(-90 * time.Minute)}, "c,of c,d,of d, unfinished"},
		{"since, in the old file", LogQuery{Lines: -1, Since: now.Add(-150 * time.Minute)}, "b,c,of c,d,of d, unfinished"},
		{"since and last", LogQuery{Lines: 3, Since: now.Add(-90 * time.Minute)}, "of c,d,of d, unfinished"},
		{"since just now", LogQuery{Lines: -1, Since: now}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := ReadLog(&b, path, c.q); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(b.String()) {
				_, text, _ := strings.Cut(line, " ")
				got = append(got, strings.TrimSpace(text))
			}
			if s := strings.Join(got, ","); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
	writeTo(t, path, "no\ntimes\n")
	if err := os.Remove(path + ".1"); err != nil {
		t.Fatal(err)
	}
	for ago, want := range map[time.Duration]string{time.Hour: "no\ntimes\n", 0: ""} {
		var b bytes.Buffer
		if err := ReadLog(&b, path, LogQuery{Lines: -1, Since: time.Now().Add(time.Minute - ago)}); err != nil || b.String() != want {
			t.Errorf("without times, %s ago: %q, %v", ago, b.String(), err)
		}
	}
	writeTo(t, path, "before\n"+at(time.Hour, "a")+at(time.Minute, "b"))
	for ago, want := range map[time.Duration]int{2 * time.Hour: 3, 30 * time.Minute: 1} {
		var b bytes.Buffer
		if err := ReadLog(&b, path, LogQuery{Lines: -1, Since: now.Add(-ago)}); err != nil || strings.Count(b.String(), "\n") != want {
			t.Errorf("lines before the first time, %s ago: %q, %v", ago, b.String(), err)
		}
	}
	if err := ReadLog(&bytes.Buffer{}, path+"x", LogQuery{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that there is not: %v", err)
	}
}

// page is what a user sees who follows a log.
type page struct {
	mu sync.Mutex
	b  strings.Builder
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *page) await(t *testing.T, want string) {
	t.Helper()
	var got string
	for range 500 {
		p.mu.Lock()
		got = p.b.String()
		p.mu.Unlock()
		if got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("shows %q, want %q", got, want)
}

func TestFollowLogOverRotationAndTruncation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gitea.log")
	writeTo(t, path, "old\none\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var p page
	ended := make(chan error, 1)
	go func() { ended <- FollowLog(ctx, &p, path, LogQuery{Lines: 1}) }()
	p.await(t, "one\n")

	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add("two")
	p.await(t, "one\ntwo")
	// a restart of a program whose log has grown large, while nobody looks
	add("...\nlast words\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	writeTo(t, path, "anew\n")
	p.await(t, "one\ntwo...\nlast words\nanew\n")
	add("more\n")
	p.await(t, "one\ntwo...\nlast words\nanew\nmore\n")
	// a user empties it
	writeTo(t, path, "less\n")
	p.await(t, "one\ntwo...\nlast words\nanew\nmore\nless\n")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFollowLogEndsWhenTheLogIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gitea.log")
	writeTo(t, path, "one\n")
	var p page
	ended := make(chan error, 1)
	go func() { ended <- FollowLog(t.Context(), &p, path, LogQuery{Lines: -1}) }()
	p.await(t, "one\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, ErrLogGone) || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still follows")
	}
}

func TestFollowLogOfARotationByOpenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.log")
	writeTo(t, path, strings.Repeat("x", logLimit)+"\nlast\n")
	var p page
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go FollowLog(ctx, &p, path, LogQuery{Lines: 1})
	p.await(t, "last\n")
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := os.Stat(path + rotatedSuffix); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "anew")
	p.await(t, "last\nanew\n")
}
