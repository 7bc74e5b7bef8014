package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/collect"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/kubernetes"
)

// agentsPart is the part of the fleet whose clusters report.
const agentsPart = "agents"

// fleet are the parts that are observed, each with a name of its own. Reports are read from the
// store.
func (c Config) fleet(s *store.Store, tokens *auth.ClusterTokens) []collect.Fleet {
	var all []collect.Fleet
	times := map[string]int{}
	for _, o := range c.Observe {
		f := collect.Fleet{Interval: o.Interval}
		switch {
		case o.Kubeconfig != "":
			f.Name, f.File = "kubernetes", o.Kubeconfig
			f.Open = func() (fleet.Reader, error) { return kubernetes.FromKubeconfig(o.Kubeconfig) }
		case o.Arc != nil:
			f.Name, f.Open = "arc", o.Arc.Open
		case o.Agents != nil:
			f.Name, f.Interval = agentsPart, cmp.Or(o.Interval, collect.ReportsInterval)
			f.Open = func() (fleet.Reader, error) {
				return collect.Reported(s, func(ctx context.Context) ([]string, error) {
					all, err := s.ReportingClusters(ctx)
					all = append(all, tokens.Clusters()...)
					slices.Sort(all)
					return slices.Compact(all), err
				}), nil
			}
		default:
			f.Name, f.Open = "endpoint", o.Endpoint.Open
		}
		if times[f.Name]++; times[f.Name] > 1 {
			f.Name = fmt.Sprintf("%s %d", f.Name, times[f.Name])
		}
		all = append(all, f)
	}
	return all
}
