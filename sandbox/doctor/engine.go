package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// engineLimit is how long a container engine may take to answer.
const engineLimit = 2 * time.Second

// engines with what makes their program ask the engine itself for its version.
var engines = []struct {
	name string
	args []string
}{
	{"docker", []string{"version", "--format", "{{.Server.Version}}"}},
	{"podman", []string{"version", "--format", "{{.Client.Version}}"}},
}

// checkEngine asks which container engines there are. None is needed, so what
// it finds is never more than a note.
func checkEngine(ctx context.Context, sys *System, _ *Subject) Finding {
	found, hangs := make([]string, len(engines)), make([]bool, len(engines))
	var all sync.WaitGroup
	for i, e := range engines {
		path, err := sys.LookPath(e.name)
		if err != nil {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, engineLimit)
			defer cancel()
			version, err := sys.Run(ctx, path, e.args...)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				found[i], hangs[i] = fmt.Sprintf("%s hangs: no answer in %s", e.name, engineLimit), true
			case err != nil:
				found[i] = fmt.Sprintf("%s is installed and its engine is not there (%v)", e.name, err)
			default:
				found[i] = e.name + " " + version
			}
		})
	}
	all.Wait()
	var text []string
	for _, f := range found {
		if f != "" {
			text = append(text, f)
		}
	}
	switch {
	case len(text) == 0:
		return ok("no docker or podman; none is needed")
	case hangs[0] || hangs[1]:
		return note(strings.Join(text, "; "), "nothing: kalypso needs no container engine", "restart the engine if you use it yourself")
	}
	return ok("%s; none is needed", strings.Join(text, "; "))
}
