package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// showTree prints what the GitOps branches will hold.
func showTree(a *cmdutil.App, p *view.Plans) error {
	return showPlans(a, p, func(w io.Writer, s cmdutil.Style, one view.Plan) {
		if len(one.Changes)+len(one.Problems) == 0 {
			fmt.Fprintln(w)
		}
		root := one.Tree()
		for _, name := range slices.Sorted(maps.Keys(root.Children)) {
			write(root.Children[name], w, s, name, 0)
		}
		fmt.Fprintln(w)
	})
}

func paint(m view.Mark, s cmdutil.Style, text string) string {
	switch m {
	case view.Added:
		return s.Good(text)
	case view.Modified, view.Held:
		return s.Warn(text)
	case view.Removed:
		return s.Bad(text)
	}
	return text
}

func write(n *view.Node, w io.Writer, s cmdutil.Style, name string, depth int) {
	if n.Children != nil || n.Note != "" {
		name += "/"
	}
	line := fmt.Sprintf("%s%c %s", strings.Repeat("  ", depth), n.Mark, name)
	line = paint(n.Mark, s, line)
	if n.Note != "" {
		line += s.Faint("  (" + n.Note + ")")
	}
	fmt.Fprintln(w, line)
	for _, child := range slices.Sorted(maps.Keys(n.Children)) {
		write(n.Children[child], w, s, child, depth+1)
	}
}
