package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReset(t *testing.T) {
	for _, c := range []struct {
		name, events string
		args         []string
		code         int
		says         string
	}{
		{"done", readyEvents, []string{"reset", "--yes"}, exitOK, "Back at the beginning, and ready ("},
		{"not asked", readyEvents, []string{"reset"}, exitUsage, "will be lost.\nThere is no terminal to ask at: add --yes"},
		{"fails", failEvents, []string{"reset", "-y"}, exitFailure, "`kalypso doctor` looks for causes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			oneDaemon(t, c.events, answer("{}"))
			code, out, talk := call(t, c.args...)
			if code != c.code || out != "" || strings.Count(talk, c.says) != 1 {
				t.Errorf("exit code %d, want %d; %q, says %q, want %q", code, c.code, out, talk, c.says)
			}
		})
	}
}

func TestResetOfASandboxThatIsDown(t *testing.T) {
	for _, args := range [][]string{{"reset"}, {"reset", "--yes"}} {
		if code, _, talk := call(t, args...); code != exitFailure || !strings.Contains(talk, "there is no sandbox yet: run `kalypso up`") {
			t.Errorf("%v: exit code %d, says %q", args, code, talk)
		}
	}
	logHome(t)
	data := filepath.Join(os.Getenv("KALYPSO_HOME"), "gitea", "db")
	worldWrite(t, data, []byte("used"))
	if code, _, talk := call(t, "reset", "--yes"); code != exitOK || !strings.Contains(talk, "The sandbox is down: `kalypso up` brings it.") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the data is still there")
	}
}

func TestInterruptedResetGoesOn(t *testing.T) {
	oneDaemon(t, lateEvents, answer("{}"))
	_, talk, interrupt := background(t, "reset", "--yes")
	if code := interrupt(); code != exitInterrupted || !strings.Contains(talk.String(), "`kalypso status` tells") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}

func TestOnlyYesMeansYes(t *testing.T) {
	for line, want := range map[string]bool{"y\n": true, "Yes \n": true, "YES": true, "": false, "\n": false, "n\n": false, "yesterday\n": false, "yy": false} {
		if saysYes(line) != want {
			t.Errorf("%q", line)
		}
	}
}
