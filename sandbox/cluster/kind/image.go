package kind

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// BuiltImage is what `make kind-node-image` builds.
	BuiltImage = "kalypso/kind-node:v1.35.4"
	// PublishedImage is kind's own for the minor version that kalypso packs, as
	// the release notes of kind v0.33.0 name it
	// (github.com/kubernetes-sigs/kind/releases/tag/v0.33.0).
	PublishedImage = "kindest/node:v1.35.8@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0"
)

// NoImageError says that the image for nodes is not there and cannot be had.
type NoImageError struct {
	Engine Engine
	Image  string
	Err    error // of pulling it
}

func (e *NoImageError) Error() string {
	return fmt.Sprintf("the engine has no image %s for the clusters' nodes, and pulling it failed (%v): run `%s pull %s` where there is a network, or build one without a registry by `make kind-node-image`",
		e.Image, e.Err, e.Engine.Program, e.Image)
}

func (e *NoImageError) Unwrap() error { return e.Err }

// EnsureImage returns the image for nodes: the one that is wanted; when none
// is, the one built here, if there is one, and the published one otherwise. It
// pulls what the engine does not have, telling say of the progress. The error
// is a *NoImageError, or about the engine.
func (e Engine) EnsureImage(ctx context.Context, wanted string, say func(string)) (string, error) {
	choice := []string{wanted}
	if wanted == "" {
		choice = []string{BuiltImage, PublishedImage}
	}
	for _, image := range choice {
		has, err := e.HasImage(ctx, image)
		if has || err != nil {
			return image, err
		}
	}
	image := choice[len(choice)-1]
	say("pulling " + image)
	if err := e.pull(ctx, image, say); err != nil {
		return "", &NoImageError{e, image, err}
	}
	return image, nil
}

// HasImage tells whether the engine has an image.
func (e Engine) HasImage(ctx context.Context, image string) (bool, error) {
	_, err := e.quick(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	var hangs *HangsError
	if err == nil || errors.As(err, &hangs) {
		return err == nil, err
	}
	// the words for a missing image differ from engine to engine
	if answers := e.Answers(ctx); answers != nil {
		return false, answers
	}
	return false, nil
}

func (e Engine) pull(ctx context.Context, image string, say func(string)) error {
	cmd := e.command(ctx, "pull", image)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	if err := supervisor.StartCommand(cmd); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		say(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		if text := lastLine(wrong.String()); text != "" {
			return fmt.Errorf("%s", text)
		}
		return err
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
