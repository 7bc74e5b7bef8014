package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
)

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
