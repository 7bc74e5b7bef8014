package license

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseBundle(t *testing.T) {
	rule := strings.Repeat("-", 80)
	text := strings.Join([]string{
		rule, "github.com/some/module", rule, "Go text",
		rule, "vue@3.5.31", rule, "MIT text", "", "---", "more",
		rule, "@scope/pkg@1.0.0-beta.1", rule, "ISC text",
		rule, "bare@2.0.0", rule, "",
	}, "\n")
	got := parseBundle(text)
	if len(got) != 3 {
		t.Fatalf("packages are %+v", got)
	}
	for i, want := range []struct{ module, version, text string }{
		{"npm:vue", "3.5.31", "MIT text\n\n---\nmore\n"},
		{"npm:@scope/pkg", "1.0.0-beta.1", "ISC text\n"},
		{"npm:bare", "2.0.0", ""},
	} {
		l := got[i]
		var text string
		if len(l.Files) > 0 {
			text = l.Files[0].Text
		}
		if l.Module != want.module || l.Version != want.version || text != want.text {
			t.Errorf("package %d is %+v, want %+v", i, l, want)
		}
	}
}

func TestParse(t *testing.T) {
	list := `
{"ImportPath":"fmt","Dir":"/go/src/fmt","Root":"/go","Standard":true}
{"ImportPath":"a/x","Dir":"/m/a/x","Module":{"Path":"a","Version":"v1.0.0","Dir":"/m/a"}}
{"ImportPath":"a","Dir":"/m/a","Module":{"Path":"a","Version":"v1.0.0","Dir":"/m/a"}}
{"ImportPath":"b","Dir":"/m/c","Module":{"Path":"b","Version":"v1.0.0","Replace":{"Path":"c","Version":"v2.0.0","Dir":"/m/c"}}}
{"ImportPath":"own","Dir":"/r/own","Module":{"Path":"own","Version":"v0.0.0","Replace":{"Path":"./own","Dir":"/r/own"}}}
{"ImportPath":"main","Dir":"/r","Module":{"Path":"main","Main":true,"Dir":"/r"}}
`
	got, err := parse([]byte(list), "go1.26.8")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range got {
		names = append(names, m.Path+" "+m.Version+" "+m.Dir)
	}
	if want := []string{"a v1.0.0 /m/a", "c v2.0.0 /m/c", "std go1.26.8 /go"}; !slices.Equal(names, want) {
		t.Errorf("modules are %q, want %q", names, want)
	}
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/LICENSE":                  "A",
		"a/NOTICE.txt":               "N",
		"a/license.go":               "package a",
		"a/third_party/x/COPYING":    "X",
		"a/third_party/x/sub/x.go":   "package sub",
		"a/third_party/y/LICENSE.md": "not linked",
		"b/b.go":                     "package b",
		"b/relicensed.txt":           "no licence",
		"c/LICENSES/Apache-2.0.txt":  "C",
		"d/MIT-LICENSE.txt":          "D",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	got, without, err := Collect("tool", []Linked{
		{Path: "a", Version: "v1", Dir: at("a"), packages: []string{at("a"), at("a/third_party/x/sub")}},
		{Path: "b", Version: "v2", Dir: at("b"), packages: []string{at("b")}},
		{Path: "c", Version: "v3", Dir: at("c"), packages: []string{at("c")}},
		{Path: "d", Version: "v4", Dir: at("d"), packages: []string{at("d")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, l := range got {
		for _, f := range l.Files {
			files = append(files, l.Module+":"+f.Name+"="+f.Text)
		}
	}
	want := []string{"a:LICENSE=A", "a:NOTICE.txt=N", "a:third_party/x/COPYING=X", "c:LICENSES/Apache-2.0.txt=C", "d:MIT-LICENSE.txt=D"}
	if !slices.Equal(files, want) {
		t.Errorf("texts are %q, want %q", files, want)
	}
	if !slices.Equal(without, []string{"b@v2"}) {
		t.Errorf("without a text: %q", without)
	}
}

func TestOfBundle(t *testing.T) {
	rule := strings.Repeat("-", 80)
	for text, want := range map[string]int{"nothing": 0, rule + "\nargo-ui@1.0.0\n" + rule + "\nApache\n": 1} {
		path := filepath.Join(t.TempDir(), "licenses.txt")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := OfBundle(path); len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: licences are %v, error %v", text, got, err)
		}
	}
}
