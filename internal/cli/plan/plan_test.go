package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

func TestColours(t *testing.T) {
	change := plan.Change{Path: "a", Action: plan.Modify, Content: []byte("1\ny\n")}
	var plain, coloured bytes.Buffer
	writePatch(&plain, cmdutil.Style{}, change, []byte("1\nx\n"))
	writePatch(&coloured, cmdutil.Style{Colour: true}, change, []byte("1\nx\n"))
	if plain.String() != view.Patch(change, []byte("1\nx\n")) {
		t.Errorf("without colours it is %q", plain.String())
	}
	for _, want := range []string{"\x1b[1m--- a/a\x1b[0m\n", "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n", "\n 1\n", "\x1b[31m-x\x1b[0m\n", "\x1b[32m+y\x1b[0m\n"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("%q is not in %q", want, coloured.String())
		}
	}
}

func TestVerdict(t *testing.T) {
	change, mistake, doubt := plan.Change{Path: "a"}, plan.Problem{Severity: model.Error}, plan.Problem{Severity: model.Warning}
	for name, c := range map[string]struct {
		plans view.Plans
		want  int
	}{
		"nothing":                  {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{}}}}, cmdutil.ExitOK},
		"a warning":                {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{Problems: []plan.Problem{doubt}}}}}, cmdutil.ExitOK},
		"changes":                  {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{}}, {Plan: &plan.Plan{Changes: []plan.Change{change}}}}}, cmdutil.ExitChanges},
		"changes and a warning":    {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{Changes: []plan.Change{change}, Problems: []plan.Problem{doubt}}}}}, cmdutil.ExitChanges},
		"an error":                 {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{Problems: []plan.Problem{mistake}}}}}, cmdutil.ExitFailure},
		"changes and an error":     {view.Plans{Environments: []view.Plan{{Plan: &plan.Plan{Changes: []plan.Change{change}}}, {Plan: &plan.Plan{Problems: []plan.Problem{mistake}}}}}, cmdutil.ExitFailure},
		"an environment's mistake": {view.Plans{Problems: []model.Diagnostic{{Severity: model.Error}}}, cmdutil.ExitFailure},
	} {
		got := cmdutil.ExitOK
		if err := verdict(&c.plans); err != nil {
			got = cmdutil.ExitCode(err)
		}
		if got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
	if got := cmdutil.ExitCode(fmt.Errorf("loading: %w", source.ErrCredentials)); got != cmdutil.ExitAuthentication {
		t.Errorf("exit code %d for credentials", got)
	}
}
