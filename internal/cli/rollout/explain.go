package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// explanation is a cluster in a wave of a rollout.
type explanation struct {
	Environment string                `json:"environment"`
	ClusterType string                `json:"clusterType"`
	Rollout     string                `json:"rollout"`
	Phase       rollout.Phase         `json:"phase"`
	Reason      string                `json:"reason"` // what the rollout has done, or waits for
	Wave        string                `json:"wave"`
	Branch      string                `json:"branch"`
	Commit      string                `json:"commit"`          // of the environment's branch, that the wave is to have
	Waits       string                `json:"waits,omitempty"` // what the wave waits for
	Cluster     rollout.ClusterStatus `json:"cluster"`
}

// ExplainCluster prints in which waves a cluster is, and what it waits for.
func ExplainCluster(ctx context.Context, o *Options, cluster string) error {
	p, err := o.find(ctx)
	if err != nil {
		return err
	}
	d := p.driver()
	all := []explanation{}
	var notes []string
	for _, env := range p.environments {
		out, err := d.Run(ctx, env)
		if err != nil {
			return ofForge(err)
		}
		for _, s := range out.Statuses {
			notes = append(notes, s.Notes...)
			for _, w := range s.Waves {
				for _, c := range w.Clusters {
					if c.Name == cluster {
						all = append(all, explanation{s.Environment, s.ClusterType, s.Rollout, s.Phase, s.Reason, w.Name, w.Branch, w.Commit, w.Reason, c})
					}
				}
			}
		}
	}
	if len(all) == 0 {
		text := fmt.Sprintf("cluster %s follows the branch of no wave: see `kalypso rollout assign`", cluster)
		for _, note := range notes {
			text += "\n" + note
		}
		return usage.New(text)
	}
	return o.Output.Print(o.App, map[string]any{"rollouts": all}, func() error { return printExplanations(o.Out, all) })
}

func printExplanations(w io.Writer, all []explanation) error {
	var out strings.Builder
	for _, e := range all {
		fmt.Fprintf(&out, "Cluster %s is in wave %s of rollout %s of environment %s: it follows branch %s.\n", e.Cluster.Name, e.Wave, e.Rollout, e.Environment, e.Branch)
		if e.Cluster.State == "arrived" {
			fmt.Fprintf(&out, "It is well with commit %.8s, which its wave has.\n", e.Commit)
		} else {
			fmt.Fprintf(&out, "Its wave has commit %.8s: %s.\n", e.Commit, e.Cluster.Reason)
		}
		if e.Phase != rollout.Complete {
			fmt.Fprintf(&out, "The rollout is %s: %s.\n", e.Phase, e.Reason)
		}
		if e.Waits != "" && e.Waits != e.Reason {
			fmt.Fprintf(&out, "The wave: %s.\n", e.Waits)
		}
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}
