package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
)

func quiet() reporter { return newReporter(io.Discard, time.Now()) }

func TestOpenCache(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"KALYPSO_CACHE": dir + "/k", "XDG_CACHE_HOME": dir + "/x"}, dir + "/k/kind"},
		{map[string]string{"XDG_CACHE_HOME": dir + "/x"}, dir + "/x/kalypso/kind"},
	} {
		t.Setenv("KALYPSO_CACHE", tt.env["KALYPSO_CACHE"])
		t.Setenv("XDG_CACHE_HOME", tt.env["XDG_CACHE_HOME"])
		got, err := openCache()
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

func TestKeyDependsOnEveryInput(t *testing.T) {
	base := inputs{Packages: []string{"a"}}
	seen := map[string]string{base.key(): "nothing"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		changed := base
		field := reflect.ValueOf(&changed).Elem().Field(i)
		if field.Kind() == reflect.String {
			field.SetString("x")
		} else {
			field.Set(reflect.ValueOf([]string{"a", "b"}))
		}
		name := v.Type().Field(i).Name
		if other, ok := seen[changed.key()]; ok {
			t.Errorf("a change of %s makes the same key as one of %s", name, other)
		}
		seen[changed.key()] = name
	}
}

func TestRootKeyDependsOnDebianOnly(t *testing.T) {
	base := inputs{Suite: "one", Packages: []string{"a"}}
	other := base
	other.Kube, other.Source, other.Kind = "x", "x", "x"
	if base.rootKey() != other.rootKey() {
		t.Error("Debian would be installed again for another kube")
	}
	other.Packages = []string{"a", "b"}
	if base.rootKey() == other.rootKey() {
		t.Error("another package makes no other root")
	}
	other = base
	other.Suite = "two"
	if base.rootKey() == other.rootKey() {
		t.Error("another release makes no other root")
	}
}

func TestDigestOfLeavesTestsOut(t *testing.T) {
	files := fstest.MapFS{"a.go": {Data: []byte("x")}, "a/b": {Data: []byte("y")}}
	one, err := digestOf(files)
	must(t, err)
	files["a_test.go"] = &fstest.MapFile{Data: []byte("z")}
	two, err := digestOf(files)
	must(t, err)
	files["a/b"] = &fstest.MapFile{Data: []byte("z")}
	three, err := digestOf(files)
	must(t, err)
	if one != two || two == three {
		t.Errorf("%s, with a test %s, with other content %s", one, two, three)
	}
}

func TestSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "os-release")
	for content, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=bookworm\n": "bookworm",
		"VERSION_CODENAME=\"trixie\"":            "trixie",
		"ID=alpine\n":                            "",
	} {
		must(t, os.WriteFile(path, []byte(content), 0o600))
		got, err := suite(path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}

func TestParseMirror(t *testing.T) {
	const targets = "bookworm-updates main http://a.test/debian/\n" +
		"bookworm main http://a.test/debian/\nbookworm contrib http://a.test/debian/\nbookworm main http://a.test/debian/\n" +
		"bookworm other http://b.test/\nbookworm-security main http://a.test/security/\nnodistro main\n"
	got := parseMirror([]byte(targets), "bookworm")
	want := mirror{"http://a.test/debian/", []string{"main", "contrib"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := parseMirror([]byte(targets), "trixie"); got.uri != "" {
		t.Errorf("a source was found: %+v", got)
	}
}

// The sandbox looks for the image by the name that it gets here.
func TestTagIsWhatTheSandboxLooksFor(t *testing.T) {
	mod, err := os.ReadFile("../../../components/kube/go.mod")
	must(t, err)
	_, after, _ := strings.Cut(string(mod), "k8s.io/kubernetes v")
	version, _, _ := strings.Cut(after, "\n")
	if got := (inputs{Kubernetes: "v" + version}).tag(); got != kind.BuiltImage {
		t.Errorf("the image is %s, the sandbox looks for %s", got, kind.BuiltImage)
	}
}

func TestInputsNeedANode(t *testing.T) {
	_, err := inputsOf(components.Manifest{Platform: "darwin/arm64", Components: []components.Component{{Name: "kube"}}})
	if err == nil || !strings.Contains(err.Error(), "node") {
		t.Errorf("error is %v", err)
	}
}
