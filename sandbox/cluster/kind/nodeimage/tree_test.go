package main

import (
	"archive/tar"
	"errors"
	"io"
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

func TestTreeReplace(t *testing.T) {
	in := tree{}
	in.File("f", 0o600, []byte("A=1\nA=2\n"))
	must(t, replace(in, "f", "A=", "A=0 "))
	must(t, extend(in, "f", "end\n"))
	got, err := contentOf(in, "f")
	must(t, err)
	if string(got) != "A=0 1\nA=2\nend\n" || in["f"].Mode != 0o600 {
		t.Errorf("%q with mode %o", got, in["f"].Mode)
	}
	if replace(in, "f", "B=", "") == nil || extend(in, "g", "") == nil {
		t.Error("what is not there was changed")
	}
}
