package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newReset(a *app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Bring the workshop back to its beginning",
		Long: `Make the forge, everything on the clusters, the scheduler and the reconcilers
anew, as after the first ` + "`kalypso up`" + `: all commits, pull requests and objects since
then are lost, and clusters that were stopped come back. Ports, URLs, passwords,
kubeconfigs and snapshots stay. ` + "`kalypso snapshot save NAME`" + ` keeps what there is.

Cut off in the middle, the next ` + "`kalypso up`" + ` finishes it.`,
		Example: `  kalypso reset
  kalypso reset --yes`,
		Args: onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			return a.reset(c.Context(), home, yes)
		},
	}
	addYes(c, &yes)
	return c
}

func addYes(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

func (a *app) reset(ctx context.Context, home sandbox.Home, yes bool) error {
	if !home.Exists() {
		return sandbox.ErrNoSandbox
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("All commits, pull requests and objects of the sandbox in %s will be lost.", home)); err != nil {
		return err
	}
	began := time.Now()
	p := newProgress(a.err, began)
	ran, err := sandbox.Reset(ctx, home, p.show)
	p.end()
	took := time.Since(began).Seconds()
	if err = a.came(ctx, err); err != nil {
		return err
	}
	if ran {
		a.talk("Back at the beginning, and ready (%.1f s). Ports, URLs and passwords are as before.", took)
	} else {
		a.talk("Back at the beginning (%.1f s). The sandbox is down: `kalypso up` brings it.", took)
	}
	return nil
}

// came says what is useful when the world has not come up again.
func (a *app) came(ctx context.Context, err error) error {
	var failed *sandbox.FailedError
	switch {
	case ctx.Err() != nil:
		a.talk("Interrupted. What has begun goes on: `kalypso status` tells.")
		return &silentError{ctx.Err()}
	case errors.As(err, &failed):
		a.lastWords(failed)
		a.talk("\nThe rest goes on. `kalypso doctor` looks for causes; then run `kalypso up`.")
	}
	return err
}

// errDeclined is the answer no. It has been given by a person: nothing needs
// to be said.
var errDeclined = &silentError{errors.New("declined")}

// confirm asks before something is lost. Where nobody can be asked the answer
// must have been given before.
func (a *app) confirm(ctx context.Context, yes bool, loss string) error {
	if yes {
		return nil
	}
	f, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &sandbox.UsageError{Message: loss + "\nThere is no terminal to ask at: add --yes if that is what you want."}
	}
	fmt.Fprintf(a.err, "%s\nGo on? [y/N] ", loss)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f).ReadString('\n') // an end of input is a no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		a.talk("")
		return &silentError{ctx.Err()}
	case line := <-answer:
		if saysYes(line) {
			return nil
		}
		a.talk("Nothing has been done.")
		return errDeclined
	}
}

func saysYes(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}
