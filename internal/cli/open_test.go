package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
)

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
	if code != cmdutil.ExitOK || out != "http://localhost:2/kalypso\n" || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if _, err := os.Stat(shown); err == nil {
		t.Error("--print has opened a browser")
	}
	// nobody is at the port, so nobody says that there is no such repository
	code, out, talk = call(t, "open", "gitea", "some-repository")
	if code != cmdutil.ExitOK || out != "http://localhost:2/kalypso/some-repository\n" || !strings.Contains(talk, "Log in as platform") || strings.Contains(talk, "hush") {
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
	if code != cmdutil.ExitOK || !strings.Contains(out, "gitea  [REPOSITORY]  http://localhost:2/kalypso  the forge") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out, _ = call(t, "open", "-o", "json")
	var all []sandbox.WebPage
	if err := json.Unmarshal([]byte(out), &all); code != cmdutil.ExitOK || err != nil || len(all) == 0 || !all[0].Running || all[0].URL == "" {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	code, out, _ = call(t, "open", "gitea", "-o", "json")
	var one sandbox.WebPage
	if err := json.Unmarshal([]byte(out), &one); code != cmdutil.ExitOK || err != nil || one.Name != "gitea" {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

func TestOpenMistakes(t *testing.T) {
	if code, _, talk := call(t, "open"); code != cmdutil.ExitFailure || !strings.Contains(talk, "run `kalypso up`") {
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
		{[]string{"open", "gitee"}, cmdutil.ExitUsage, "", "did you mean gitea?"},
		{[]string{"open", "a", "b", "c"}, cmdutil.ExitUsage, "", "usage: kalypso open [PLACE [PART]]"},
		{[]string{"open", "-o", "xml"}, cmdutil.ExitUsage, "", "choose text or json"},
		{[]string{"open", "gitea"}, cmdutil.ExitFailure, "http://localhost:2/kalypso\n", "kalypso: the sandbox is down"},
		{[]string{"open", "gitea", "--print"}, cmdutil.ExitOK, "http://localhost:2/kalypso\n", "Nothing is there now: the sandbox is down"},
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
