package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// document is what -o json prints, which scripts rely on: fields are added, not changed.
type document struct {
	Rollouts []rollout.Status `json:"rollouts"`
}

// Status prints how rollouts are.
func Status(ctx context.Context, o *Options) error {
	p, err := o.find(ctx)
	if err != nil {
		return err
	}
	d := p.driver()
	doc := document{Rollouts: []rollout.Status{}}
	for _, env := range p.environments {
		out, err := d.Run(ctx, env)
		if err != nil {
			return ofForge(err)
		}
		doc.Rollouts = append(doc.Rollouts, out.Statuses...)
	}
	return o.Output.Print(o.App, doc, func() error { return printStatus(o.Out, doc.Rollouts) })
}

func printStatus(w io.Writer, all []rollout.Status) error {
	var out strings.Builder
	s := cmdutil.NewStyle(w)
	for i, r := range all {
		if i > 0 {
			out.WriteString("\n")
		}
		phase := string(r.Phase)
		switch r.Phase {
		case rollout.Complete:
			phase = s.Good(phase)
		case rollout.Stopped, rollout.Aborted:
			phase = s.Bad(phase)
		default:
			phase = s.Warn(phase)
		}
		fmt.Fprintf(&out, "%s: %s\n  %s\n", s.Bold(fmt.Sprintf("Rollout %s of cluster type %s in environment %s", r.Rollout, r.ClusterType, r.Environment)), phase, r.Reason)
		table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "  WAVE\tCOMMIT\tCLUSTERS\tWELL\tFAILED\t\n")
		for _, wave := range r.Waves {
			here := " "
			if wave.Name == r.Wave && r.Phase != rollout.Complete {
				here = "*"
			}
			fmt.Fprintf(table, "%s %s\t%.8s\t%d\t%d\t%d\t\n", here, wave.Name, wave.Commit, wave.Size, wave.Arrived, wave.Failed)
		}
		_ = table.Flush() // to memory
		for _, note := range r.Notes {
			fmt.Fprintf(&out, "  %s\n", s.Warn(note))
		}
	}
	if len(all) == 0 {
		out.WriteString("no rollouts\n")
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}
