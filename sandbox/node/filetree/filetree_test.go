package filetree

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

func TestTreeWritesParentsFirstAndHardLinksLast(t *testing.T) {
	in := Tree{}
	in.File("b/c/file", 0o644, []byte("x"))
	in.File("b-1", 0o755, nil)
	in.Link("b/link", "c/file")
	in.Folder("tmp", 0o1777, 0)
	in["a/hard"] = Entry{Header: tar.Header{Typeflag: tar.TypeLink, Linkname: "b/c/file"}}
	var one, two bytes.Buffer
	if err := in.Write(&one); err != nil {
		t.Fatal(err)
	}
	if err := in.Write(&two); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same tree makes different archives")
	}
	var names []string
	content := map[string]string{}
	for r := tar.NewReader(&one); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := h.Name
		if h.Linkname != "" {
			name += " -> " + h.Linkname
		}
		names, content[h.Name] = append(names, name), string(b)
	}
	want := []string{"b-1", "b/", "b/c/", "b/c/file", "b/link -> c/file", "tmp/", "a/", "a/hard -> b/c/file"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if content["b/c/file"] != "x" {
		t.Errorf("content is %q", content["b/c/file"])
	}
}
