package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// notThere is how engines say that they do not have an image.
var notThere = regexp.MustCompile(`(?i)no such|not known|not found|no image`)

// checkNodeImage asks whether the engine has what kind's nodes are made of.
// Whoever could get it has tried before.
func checkNodeImage(ctx context.Context, sys *System, s *Subject) Finding {
	switch {
	case s.Provider != kind:
		return ok("only kind clusters need one")
	case s.NodeImage == "":
		return ok("the clusters are there already, or it is not chosen yet")
	}
	e := sys.engine(ctx)
	if e.err != nil {
		return note("the engine cannot be asked", noEngine, "")
	}
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	is, err := sys.Run(ctx, e.path, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", s.NodeImage)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return warning(fmt.Sprintf("%s hangs: no answer in %s", e.program, engineLimit), "nobody knows whether there is "+s.NodeImage, e.restart(sys))
	case err != nil && notThere.MatchString(err.Error()):
		return fatal(fmt.Sprintf("%s has no image %s", e.program, s.NodeImage), "kind's nodes are made of it",
			fmt.Sprintf("`%s pull %s`, or where no registry can be reached `make kind-node-image`", e.program, s.NodeImage))
	case err != nil:
		return warning(fmt.Sprintf("%s does not tell of %s (%v)", e.program, s.NodeImage, err), "nobody knows whether it is there", e.restart(sys))
	case is != e.facts.os+"/"+e.facts.arch:
		return warning(fmt.Sprintf("%s is for %s, the engine is for %s/%s", s.NodeImage, is, e.facts.os, e.facts.arch),
			"nodes of it run only where it is emulated, and slowly", fmt.Sprintf("`%s pull --platform %s/%s %s`", e.program, e.facts.os, e.facts.arch, s.NodeImage))
	}
	return ok("%s", s.NodeImage)
}
