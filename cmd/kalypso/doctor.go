package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/spf13/cobra"
)

func newDoctor(a *app) *cobra.Command {
	var o output
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
		Args: onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			report, refusal := sandbox.Diagnose(c.Context(), version)
			if asJSON {
				err = a.printJSON(report)
			} else {
				err = printReport(a.out, newStyle(a.out), report)
			}
			if err != nil {
				return err
			}
			if refusal != nil {
				return &silentError{refusal} // the report has said it
			}
			return nil
		},
	}
	o.addTo(c)
	return c
}

// printReport prints a line for each check, so that one sees what was looked
// at, and more only where something is to be said.
func printReport(w io.Writer, st style, r *doctor.Report) error {
	paint := map[doctor.Severity]func(string) string{doctor.OK: st.good, doctor.Note: st.bold, doctor.Warning: st.warn, doctor.Fatal: st.bad}
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
		parts = append(parts, count(n, "note"))
	}
	if n := len(r.Of(doctor.Warning)); n > 0 {
		parts = append(parts, count(n, "warning"))
	}
	if n := len(r.Of(doctor.Fatal)); n > 0 {
		parts = append(parts, fmt.Sprintf("%d fatal", n))
	}
	return fmt.Sprintf("%s in %.2f s: %s.", count(len(r.Findings), "check"), r.Took.Seconds(), strings.Join(parts, ", "))
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
