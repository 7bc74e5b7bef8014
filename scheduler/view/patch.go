package view

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/diff"
)

// Patch is a change as git writes it.
func Patch(c plan.Change, before []byte) string {
	var out strings.Builder
	from, to := "a/"+c.Path, "b/"+c.Path
	fmt.Fprintf(&out, "diff --git %s %s\n", quoted(from), quoted(to))
	switch c.Action {
	case plan.Add:
		out.WriteString("new file mode 100644\n")
		from = "/dev/null"
	case plan.Remove:
		out.WriteString("deleted file mode 100644\n")
		to = "/dev/null"
	}
	_, hunks, ok := bytes.Cut(diff.Diff("a", before, "b", c.Content), []byte("+++ b\n"))
	if ok {
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s", marked(from), marked(to), hunks)
	}
	return out.String()
}

// quoted is a path as git spells it in a patch.
func quoted(file string) string {
	if strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return strconv.Quote(file)
	}
	return file
}

// marked ends a path with spaces so that no tool takes what follows it for a
// date.
func marked(file string) string {
	if strings.Contains(file, " ") {
		return quoted(file) + "\t"
	}
	return quoted(file)
}
