package kind

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestFindEngine(t *testing.T) {
	newFakeEngine(t)
	t.Setenv("DOCKER_HOST", "unix:///somewhere.sock")
	e, err := FindEngine()
	if err != nil || e.Program != "docker" || e.Environment["DOCKER_HOST"] != "unix:///somewhere.sock" || len(e.Environment) != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
	t.Setenv(chooser, "podman")
	if e, err := FindEngine(); err != nil || e.Program != "podman" {
		t.Errorf("%+v, %v", e, err)
	}
	t.Setenv(chooser, "rkt")
	if _, err := FindEngine(); err == nil || !strings.Contains(err.Error(), "choose one of docker, podman, nerdctl") {
		t.Error(err)
	}
	t.Setenv(chooser, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := FindEngine(); err == nil || !strings.Contains(err.Error(), "neither docker nor podman nor nerdctl is installed") {
		t.Error(err)
	}
}

// TestUse finds the engine again from a shell that knows of another one.
func TestUse(t *testing.T) {
	e := newFakeEngine(t)
	e.Environment = map[string]string{"DOCKER_HOST": "unix:///mine.sock"}
	t.Setenv("DOCKER_HOST", "unix:///other.sock")
	t.Setenv("DOCKER_CONTEXT", "other")
	t.Setenv(chooser, "podman")
	if err := e.Use(); err != nil {
		t.Fatal(err)
	}
	_, context := os.LookupEnv("DOCKER_CONTEXT")
	if os.Getenv("DOCKER_HOST") != "unix:///mine.sock" || context || os.Getenv(chooser) != "docker" {
		t.Errorf("%q", os.Environ())
	}
}

func TestAnswers(t *testing.T) {
	e := newFakeEngine(t)
	if err := e.Answers(t.Context()); err != nil {
		t.Error(err)
	}
	e.answer("version", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
	if err := e.Answers(t.Context()); err == nil || err.Error() != "docker version: Cannot connect to the Docker daemon" {
		t.Error(err)
	}
	impatient(t)
	e.answer("version", "exec sleep 60")
	var hangs *HangsError
	if err := e.Answers(t.Context()); !errors.As(err, &hangs) || hangs.Program != "docker" {
		t.Error(err)
	}
}

func TestEnsureImage(t *testing.T) {
	nothing := func(string) {}
	e := newFakeEngine(t)
	e.answer("image inspect --format {{.Id}} kalypso", "echo sha256:1")
	if image, err := e.EnsureImage(t.Context(), "", nothing); image != BuiltImage || err != nil {
		t.Errorf("the one built here: %s, %v", image, err)
	}
	if image, err := e.EnsureImage(t.Context(), "kalypso/own:1", nothing); image != "kalypso/own:1" || err != nil {
		t.Errorf("the one that is wanted: %s, %v", image, err)
	}

	e = newFakeEngine(t)
	e.answer("image inspect", "echo 'no such image' >&2; exit 1")
	e.answer("pull", "echo layer 1; echo layer 2")
	var said []string
	image, err := e.EnsureImage(t.Context(), "", func(step string) { said = append(said, step) })
	if image != PublishedImage || err != nil || strings.Join(said, "; ") != "pulling "+PublishedImage+"; layer 1; layer 2" {
		t.Errorf("pulled: %s, %v, %q", image, err, said)
	}

	e.answer("pull", "echo 'trying' >&2; echo 'dial tcp: no such host' >&2; exit 1")
	_, err = e.EnsureImage(t.Context(), "some/image:1", nothing)
	var missing *NoImageError
	if !errors.As(err, &missing) || missing.Image != "some/image:1" {
		t.Fatal(err)
	}
	for _, want := range []string{"dial tcp: no such host", "`docker pull some/image:1`", "`make kind-node-image`"} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "trying") {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	// an engine that is gone has no image either, but that is not the reason
	e.answer("version", "echo 'Cannot connect' >&2; exit 1")
	if _, err := e.EnsureImage(t.Context(), "", nothing); errors.As(err, &missing) || err == nil || !strings.Contains(err.Error(), "Cannot connect") {
		t.Error(err)
	}
}
