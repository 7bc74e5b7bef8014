package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var o cmdutil.Output
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a sandbox needs of this machine",
		Long: `Look at everything that a sandbox needs of this machine, in a moment and
without changing anything. Each check tells what it has found and, where that
is not good, what is lost and how to mend it:

  ok       as it should be
  note     worth knowing; little or nothing is lost
  warning  something does not work, or soon will not
  fatal    ` + "`kalypso up`" + ` cannot succeed; the exit code is 5`,
		Example: `  kalypso doctor
  kalypso doctor -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			asJSON, err := o.JSON()
			if err != nil {
				return err
			}
			report, refusal := sandbox.Diagnose(c.Context(), a.Version)
			if asJSON {
				err = a.PrintJSON(report)
			} else {
				err = printReport(a.Out, cmdutil.NewStyle(a.Out), report)
			}
			if err != nil {
				return err
			}
			if refusal != nil {
				return cmdutil.Silent(refusal) // the report has said it
			}
			return nil
		},
	}
	o.AddTo(c)
	return c
}

// printReport prints a line for each check, so that one sees what was looked
// at, and more only where something is to be said.
func printReport(w io.Writer, st cmdutil.Style, r *doctor.Report) error {
	paint := map[doctor.Severity]func(string) string{doctor.OK: st.Good, doctor.Note: st.Bold, doctor.Warning: st.Warn, doctor.Fatal: st.Bad}
	width := 0
	for _, f := range r.Findings {
		width = max(width, len(f.Check))
	}
	const severity = 7 // the longest is "warning"
	indent := strings.Repeat(" ", severity+2+width+2)
	for _, f := range r.Findings {
		pad := strings.Repeat(" ", severity-len(f.Severity))
		fmt.Fprintf(w, "%s%s  %-*s  %s\n", paint[f.Severity](string(f.Severity)), pad, width, f.Check, f.Found)
		if f.Lost != "" {
			fmt.Fprintf(w, "%slost: %s\n", indent, f.Lost)
		}
		if f.Fix != "" {
			fmt.Fprintf(w, "%sfix:  %s\n", indent, f.Fix)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\nNext  %s\n", summary(r), next(r))
	return err
}

func summary(r *doctor.Report) string {
	parts := []string{fmt.Sprintf("%d ok", len(r.Of(doctor.OK)))}
	if n := len(r.Of(doctor.Note)); n > 0 {
		parts = append(parts, cmdutil.Count(n, "note"))
	}
	if n := len(r.Of(doctor.Warning)); n > 0 {
		parts = append(parts, cmdutil.Count(n, "warning"))
	}
	if n := len(r.Of(doctor.Fatal)); n > 0 {
		parts = append(parts, fmt.Sprintf("%d fatal", n))
	}
	return fmt.Sprintf("%s in %.2f s: %s.", cmdutil.Count(len(r.Findings), "check"), r.Took.Seconds(), strings.Join(parts, ", "))
}

// next is the command to go on with.
func next(r *doctor.Report) string {
	switch {
	case r.Severity == doctor.Fatal:
		return "mend what is fatal, then: kalypso doctor"
	case r.Running:
		return "kalypso status"
	}
	return "kalypso up"
}
