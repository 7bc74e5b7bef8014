package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpack lists an archive: "path" for files with their content, "path/" for
// folders, "path -> to" for links of both kinds.
func unpack(t *testing.T, archive io.Reader) (names []string, content map[string]string) {
	t.Helper()
	content = map[string]string{}
	for in := tar.NewReader(archive); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return names, content
		}
		must(t, err)
		name := h.Name
		if h.Linkname != "" {
			name += " -> " + h.Linkname
		}
		names = append(names, name)
		data, err := io.ReadAll(in)
		must(t, err)
		content[h.Name] = string(data)
	}
}

func TestTreeWritesParentsFirstAndHardLinksLast(t *testing.T) {
	in := tree{}
	in.file("b/c/file", 0o644, []byte("x"))
	in.file("b-1", 0o755, nil)
	in.link("b/link", "c/file")
	in.folder("tmp", 0o1777)
	in["a/hard"] = entry{tar.Header{Typeflag: tar.TypeLink, Linkname: "b/c/file"}, nil}
	var one, two bytes.Buffer
	must(t, in.write(&one))
	must(t, in.write(&two))
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same tree makes different archives")
	}
	names, content := unpack(t, &one)
	want := []string{"b-1", "b/", "b/c/", "b/c/file", "b/link -> c/file", "tmp/", "a/", "a/hard -> b/c/file"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if content["b/c/file"] != "x" {
		t.Errorf("content is %q", content["b/c/file"])
	}
}

func TestTreeReplace(t *testing.T) {
	in := tree{}
	in.file("f", 0o600, []byte("A=1\nA=2\n"))
	must(t, in.replace("f", "A=", "A=0 "))
	must(t, in.extend("f", "end\n"))
	got, err := in.content("f")
	must(t, err)
	if string(got) != "A=0 1\nA=2\nend\n" || in["f"].Mode != 0o600 {
		t.Errorf("%q with mode %o", got, in["f"].Mode)
	}
	if in.replace("f", "B=", "") == nil || in.extend("g", "") == nil {
		t.Error("what is not there was changed")
	}
}
