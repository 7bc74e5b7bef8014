// Package doctor has the command that checks what a sandbox needs of the machine.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso doctor`.
type Options struct {
	*cmdutil.App
	sandbox.Choice
	Output cmdutil.Output
}

// NewCommand makes `kalypso doctor`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a sandbox needs of this machine",
		Long: `Look at everything that a sandbox needs of this machine, in a moment and
without changing anything. Each check shows what it has found and, where that
is not good, what is lost and how to mend it:

  ok       as it should be
  note     worth knowing; little or nothing is lost
  warning  something does not work, or soon will not
  fatal    ` + "`kalypso up`" + ` cannot succeed; the exit code is 5

With flags of ` + "`kalypso up`" + ` it looks at what a new sandbox needs that is made with
them.`,
		Example: `  kalypso doctor
  kalypso doctor --provider kind
  kalypso doctor -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	cmdutil.AddChoice(c, &o.Choice)
	o.Output.AddTo(c, "text", "json")
	return c
}

// Run makes all checks and prints what they have found. A fatal finding is an
// error.
func Run(ctx context.Context, o *Options) error {
	report, refusal := sandbox.Diagnose(ctx, o.Version, o.Choice)
	if report == nil {
		return refusal
	}
	err := o.Output.Print(o.App, report, func() error {
		return printReport(o.Out, cmdutil.NewStyle(o.Out), report, cmdutil.ChoiceFlags(o.Choice))
	})
	if err == nil && refusal != nil {
		return cmdutil.Silent(refusal) // the report has it
	}
	return err
}

// printReport prints a line for each check, so that one sees what was checked,
// and more only where something is to be said.
func printReport(w io.Writer, st cmdutil.Style, r *doctor.Report, flags string) error {
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
	_, err := fmt.Fprintf(w, "\n%s\nNext  %s\n", summary(r), next(r, flags))
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

// next is the command to go on with, with the flags of the sandbox that is meant.
func next(r *doctor.Report, flags string) string {
	switch {
	case r.Severity == doctor.Fatal:
		return "mend what is fatal, then: kalypso doctor" + flags
	case r.Running:
		return "kalypso status"
	}
	return "kalypso up" + flags
}
