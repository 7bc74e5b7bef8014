package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/workshop"
)

// row is a line of the list: a cluster, or several that differ in their numbers.
type row struct {
	sandbox.Cluster
	last   string // the name of the last one
	count  int
	states map[string]int
}

func list(ctx context.Context, o *FleetOptions) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	all, err := sandbox.Clusters(ctx, home)
	if err != nil {
		return err
	}
	return o.Output.Print(o.App, all, func() error {
		w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tTYPE\tKIND\tRECONCILER\tFOLLOWS\tSTATE")
		for _, r := range rows(all, o.All) {
			name := r.Name
			if r.count > 1 {
				name += ".." + r.last
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, r.Type, r.Kind, r.Reconciler, strings.Join(branches(r.Cluster), ","), r.state())
		}
		return w.Flush()
	})
}

var digits = regexp.MustCompile(`[0-9]+`)

// rows puts virtual clusters together, unless each is asked for.
func rows(all []sandbox.Cluster, each bool) []*row {
	var rows []*row
	known := map[string]*row{}
	for _, c := range all {
		key := digits.ReplaceAllString(c.Name, "#") + " " + c.Type + " " + string(c.Reconciler) + " " + strings.Join(branches(c), ",")
		r := known[key]
		if r == nil || each || c.Kind != workshop.VirtualCluster {
			r = &row{Cluster: c, states: map[string]int{}}
			rows, known[key] = append(rows, r), r
		}
		r.last = c.Name
		r.count++
		r.states[c.State]++
	}
	return rows
}

func branches(c sandbox.Cluster) []string {
	var all []string
	for _, f := range c.Follows {
		all = append(all, f.Branch)
	}
	return all
}

// state is that of a cluster, or how many are in which.
func (r *row) state() string {
	if r.count == 1 {
		return r.State
	}
	var parts []string
	for _, s := range []string{"ready", "progressing", "failed", "offline"} {
		if n := r.states[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}
