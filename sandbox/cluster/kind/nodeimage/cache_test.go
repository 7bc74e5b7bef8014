package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func quiet() sayer { return talk(io.Discard, time.Now()) }

func TestOpenCache(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"KALYPSO_CACHE": dir + "/k", "XDG_CACHE_HOME": dir + "/x"}, dir + "/k/kind"},
		{map[string]string{"XDG_CACHE_HOME": dir + "/x"}, dir + "/x/kalypso/kind"},
	} {
		got, err := openCache(func(name string) string { return tt.env[name] })
		must(t, err)
		if string(got) != tt.want {
			t.Errorf("%v: got %s", tt.env, got)
		}
	}
}

func TestArchiveIsMadeOnce(t *testing.T) {
	c, in, made := cache(t.TempDir()), inputs{Kubernetes: "v1"}, 0
	build := func(work, to string) error {
		made++
		must(t, os.WriteFile(filepath.Join(work, "left"), nil, 0o600))
		return os.WriteFile(to, []byte("image"), 0o600)
	}
	var paths []string
	for range 2 {
		path, err := c.archive(t.Context(), quiet(), in, build)
		must(t, err)
		paths = append(paths, path)
	}
	if made != 1 || paths[0] != paths[1] {
		t.Errorf("made %d times: %q", made, paths)
	}
	if data, err := os.ReadFile(paths[0]); string(data) != "image" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(string(c), "work")); err == nil {
		t.Error("the work folder was left behind")
	}
}

func TestArchiveOfAFailedBuildIsNotKept(t *testing.T) {
	c, bad := cache(t.TempDir()), errors.New("disk is full")
	_, err := c.archive(t.Context(), quiet(), inputs{}, func(_, to string) error {
		must(t, os.WriteFile(to, nil, 0o600))
		return bad
	})
	if !errors.Is(err, bad) {
		t.Errorf("error is %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(c), "*.tar")); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := cache(t.TempDir())
	for i, name := range []string{"node-a.tar", "node-b.tar", "node-c.tar", "debian-x.tar"} {
		path := filepath.Join(string(c), name)
		must(t, os.WriteFile(path, nil, 0o600))
		at := time.Unix(int64(1000+i), 0)
		must(t, os.Chtimes(path, at, at))
	}
	if !c.has(filepath.Join(string(c), "node-a.tar")) {
		t.Error("what is there is not found")
	}
	must(t, c.trim("node-*.tar"))
	left, err := filepath.Glob(filepath.Join(string(c), "*"))
	must(t, err)
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if !slices.Equal(left, []string{"debian-x.tar", "node-a.tar", "node-c.tar"}) {
		t.Errorf("left %q", left)
	}
}
