package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeDocker puts a docker into the path whose image has that id and label, and
// returns the commands it has got that change something.
func fakeDocker(t *testing.T, inspect string) func() string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	text := fmt.Sprintf(`#!/bin/sh
case "$1 $2" in
"version "*) echo 1 1 ;;
"image inspect") %s ;;
*) echo "$*" >>%s ;;
esac
`, inspect, log)
	must(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(text), 0o755))
	t.Setenv("PATH", dir)
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "")
	return func() string {
		data, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestLoad(t *testing.T) {
	in := inputs{Kubernetes: "v1"}
	for name, tt := range map[string]struct{ inspect, want string }{
		"the engine has it":        {"echo sha256:1 " + in.key(), ""},
		"the engine has none":      {"exit 1", "load -i a.tar\n"},
		"the engine has an older":  {"echo sha256:1 older", "load -i a.tar\nimage rm sha256:1\n"},
		"the engine has another's": {"echo 'sha256:1 '", "load -i a.tar\nimage rm sha256:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			did := fakeDocker(t, tt.inspect)
			must(t, load(t.Context(), quiet(), "a.tar", in))
			if got := did(); got != tt.want {
				t.Errorf("docker was called with %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLoadWithoutEngine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "")
	var said strings.Builder
	must(t, load(t.Context(), newReporter(&said, time.Now()), "/x/a.tar", inputs{}))
	if !strings.Contains(said.String(), "docker load -i /x/a.tar") {
		t.Errorf("said %q", said.String())
	}
}

func TestDebianRootSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := builder{cache: cache(t.TempDir()), report: quiet()}.debianRoot(t.Context())
	if err == nil || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("error is %v", err)
	}
}

func TestToolThatFails(t *testing.T) {
	_, err := tool{args: []string{"sh", "-c", "echo one; echo two >&2; exit 3"}}.run(t.Context())
	var failed *commandError
	if !errors.As(err, &failed) || !strings.Contains(failed.tail, "one") || !strings.Contains(failed.tail, "two") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error is %#v", err)
	}
}
