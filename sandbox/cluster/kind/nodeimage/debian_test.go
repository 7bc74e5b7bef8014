package main

import (
	"archive/tar"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// writeRoot makes a root of files and of links, which are written as ">to".
func writeRoot(t *testing.T, files map[string]string) *root {
	t.Helper()
	in := tree{}
	for name, content := range files {
		if to, ok := strings.CutPrefix(content, ">"); ok {
			in.Link(name, to)
		} else {
			in.File(name, 0o755, []byte(content))
		}
	}
	return rootOf(t, in)
}

func rootOf(t *testing.T, in tree) *root {
	t.Helper()
	path := filepath.Join(t.TempDir(), "root.tar")
	f, err := os.Create(path)
	must(t, err)
	must(t, in.Write(f))
	must(t, f.Close())
	r, err := openRoot(path)
	must(t, err)
	t.Cleanup(func() { must(t, r.close()) })
	return r
}

func TestRootFollowsLinks(t *testing.T) {
	r := writeRoot(t, map[string]string{
		"lib":                 ">usr/lib",
		"usr/lib/x/tool.so.1": "content",
		"usr/lib/x/tool.so":   ">tool.so.1",
		"usr/lib/x/up.so":     ">../x/tool.so",
		"etc/alternatives/a":  ">/lib/x/up.so",
		"loop":                ">loop",
		"nowhere":             ">usr/none",
	})
	for name, links := range map[string][]string{
		"/usr/lib/x/tool.so.1": nil,
		"/lib/x/tool.so":       {"lib", "usr/lib/x/tool.so"},
		"etc/alternatives/a":   {"etc/alternatives/a", "lib", "usr/lib/x/tool.so", "usr/lib/x/up.so"},
	} {
		file, got, err := r.follow(name)
		must(t, err)
		slices.Sort(got)
		if file != "usr/lib/x/tool.so.1" || !slices.Equal(got, links) {
			t.Errorf("%s leads to %s by %q", name, file, got)
		}
		content, err := r.read(name)
		must(t, err)
		if string(content) != "content" {
			t.Errorf("%s has %q", name, content)
		}
	}
	for _, name := range []string{"loop", "nowhere", "usr/none", "usr/lib/x/tool.so.1/more"} {
		if _, _, err := r.follow(name); err == nil {
			t.Errorf("%s leads somewhere", name)
		}
	}
	if _, err := r.read("usr/lib"); err == nil {
		t.Error("a folder was read")
	}
}

func TestRootReadsHardLinks(t *testing.T) {
	in := tree{}
	in.File("usr/bin/perl", 0o755, []byte("program"))
	in["usr/bin/perl5"] = filetree.Entry{Header: tar.Header{Typeflag: tar.TypeLink, Linkname: "usr/bin/perl"}}
	r := rootOf(t, in)
	content, err := r.read("usr/bin/perl5")
	must(t, err)
	if string(content) != "program" {
		t.Errorf("read %q", content)
	}
}

func TestBaseHasNoServicesOfAMachine(t *testing.T) {
	r := writeRoot(t, map[string]string{
		"usr/lib/systemd/systemd": "",
		"usr/lib/systemd/system/sockets.target.wants/systemd-udevd-kernel.socket":    "",
		"usr/lib/systemd/system/sockets.target.wants/systemd-journald.socket":        "",
		"usr/lib/systemd/system/multi-user.target.wants/getty.target":                "",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service": "",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-sysctl.service":         "",
		"etc/systemd/system/timers.target.wants/apt-daily.timer":                     "",
		"etc/systemd/system/apt.service":                                             "",
	})
	var got []string
	for name, e := range r.base() {
		if e.Typeflag != tar.TypeDir {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{
		"etc/systemd/system/apt.service",
		"usr/lib/systemd/system/sockets.target.wants/systemd-journald.socket",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-sysctl.service",
		"usr/lib/systemd/systemd",
		"usr/sbin/init",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if len(r.tree) == len(maps.Collect(maps.All(r.base()))) {
		t.Error("the root itself was changed")
	}
}
