package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
)

func TestBrowser(t *testing.T) {
	for _, c := range []struct {
		name, system string
		env          []string
		installed    string
		want         string
	}{
		{"no display", "linux", nil, "xdg-open", ""},
		{"X", "linux", []string{"DISPLAY"}, "xdg-open", "/bin/xdg-open"},
		{"Wayland", "linux", []string{"WAYLAND_DISPLAY"}, "xdg-open", "/bin/xdg-open"},
		{"a display and no program", "linux", []string{"DISPLAY"}, "open", ""},
		{"a Mac", "darwin", nil, "open", "/bin/open"},
		{"Windows' Linux", "linux", []string{"WSL_DISTRO_NAME"}, "wslview", "/bin/wslview"},
	} {
		env := func(name string) string {
			for _, set := range c.env {
				if set == name {
					return "x"
				}
			}
			return ""
		}
		look := func(name string) (string, error) {
			if name == c.installed {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		}
		if got := browser(c.system, env, look); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// withDisplay puts a browser into the PATH and returns the file where it notes
// what it has been asked to show.
func withDisplay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	shown := filepath.Join(dir, "shown")
	script := "#!/bin/sh\necho \"$@\" >" + shown + ".new && mv " + shown + ".new " + shown + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("DISPLAY", ":0")
	t.Setenv("WSL_DISTRO_NAME", "")
	return shown
}

func TestOpen(t *testing.T) {
	runningSandbox(t)
	shown := withDisplay(t)
	code, out, talk := call(t, "open", "gitea", "--print")
	if code != exitOK || out != "http://localhost:2/kalypso\n" || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if _, err := os.Stat(shown); err == nil {
		t.Error("--print has opened a browser")
	}
	// nobody is at the port, so nobody says that there is no such repository
	code, out, talk = call(t, "open", "gitea", "some-repository")
	if code != exitOK || out != "http://localhost:2/kalypso/some-repository\n" || !strings.Contains(talk, "Log in as platform") || strings.Contains(talk, "hush") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	for range 500 {
		if b, err := os.ReadFile(shown); err == nil {
			if string(b) != out {
				t.Errorf("the browser was asked for %q", b)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no browser has been opened")
}

func TestOpenLists(t *testing.T) {
	runningSandbox(t)
	code, out, _ := call(t, "open")
	if code != exitOK || !strings.Contains(out, "gitea  [REPOSITORY]  http://localhost:2/kalypso  the forge") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out, _ = call(t, "open", "-o", "json")
	var all []sandbox.Place
	if err := json.Unmarshal([]byte(out), &all); code != exitOK || err != nil || len(all) == 0 || !all[0].Running || all[0].URL == "" {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	code, out, _ = call(t, "open", "gitea", "-o", "json")
	var one sandbox.Place
	if err := json.Unmarshal([]byte(out), &one); code != exitOK || err != nil || one.Name != "gitea" {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

func TestOpenMistakes(t *testing.T) {
	if code, _, talk := call(t, "open"); code != exitFailure || !strings.Contains(talk, "run `kalypso up`") {
		t.Errorf("without a sandbox: exit code %d, says %q", code, talk)
	}
	logHome(t) // is down
	shown := withDisplay(t)
	for _, c := range []struct {
		args []string
		code int
		out  string
		says string
	}{
		{[]string{"open", "gitee"}, exitUsage, "", "did you mean gitea?"},
		{[]string{"open", "a", "b", "c"}, exitUsage, "", "usage: kalypso open [PLACE [PART]]"},
		{[]string{"open", "-o", "xml"}, exitUsage, "", "choose text or json"},
		{[]string{"open", "gitea"}, exitFailure, "http://localhost:2/kalypso\n", "kalypso: the sandbox is down"},
		{[]string{"open", "gitea", "--print"}, exitOK, "http://localhost:2/kalypso\n", "Nothing is there now: the sandbox is down"},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code || out != c.out || strings.Count(talk, c.says) != 1 {
			t.Errorf("%v: exit code %d, %q, says %q", c.args, code, out, talk)
		}
	}
	if _, err := os.Stat(shown); err == nil {
		t.Error("a browser has been opened for nothing")
	}
}
