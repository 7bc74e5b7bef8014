package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
)

// load gives the image to the engine, unless it has it. Without an engine it
// says how to do that later, which is no error.
func load(ctx context.Context, say sayer, archive string, in inputs) error {
	engine, err := kind.FindEngine()
	if err == nil {
		err = engine.Answers(ctx)
	}
	if err != nil {
		say("not loaded: %v", err)
		say("load it later: docker load -i %s", archive)
		return nil
	}
	ask := func(args ...string) (string, error) {
		out, err := tool{args: append([]string{engine.Program}, args...)}.run(ctx)
		return strings.TrimSpace(string(out)), err
	}
	// an error means that there is no such image
	had, _ := ask("image", "inspect", "--format", `{{.Id}} {{index .Config.Labels "`+keyLabel+`"}}`, in.tag())
	id, key, _ := strings.Cut(had, " ")
	if key == in.key() {
		say("%s has %s", engine.Program, in.tag())
		return nil
	}
	say("loading %s into %s", in.tag(), engine.Program)
	if _, err := ask("load", "-i", archive); err != nil {
		return fmt.Errorf("load %s: %w", archive, err)
	}
	if id != "" {
		// the one before has no name any more; it stays while a node is made of it
		_, _ = ask("image", "rm", id)
	}
	say("%s has %s", engine.Program, in.tag())
	return nil
}
