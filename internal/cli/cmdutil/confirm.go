package cmdutil

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"golang.org/x/term"
)

// errDeclined is the answer no. It has been given by a person: nothing needs
// to be said.
var errDeclined = Silent(errors.New("declined"))

// Confirm asks before something is lost. Where nobody can be asked the answer
// must have been given before.
func (a *App) Confirm(ctx context.Context, yes bool, loss string) error {
	if yes {
		return nil
	}
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usage.New(loss + "\nThere is no terminal to ask at: add --yes if that is what you want.")
	}
	fmt.Fprintf(a.Err, "%s\nGo on? [y/N] ", loss)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f).ReadString('\n') // an end of input is a no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		a.Messagef("")
		return Silent(ctx.Err())
	case line := <-answer:
		if saysYes(line) {
			return nil
		}
		a.Messagef("Nothing has been done.")
		return errDeclined
	}
}

func saysYes(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}
