package stack

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/host"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/workshop"
)

// newHosts makes the reconcilers of the workshop's hosts, or none with the reason where this
// machine cannot have any.
func (st *Stack) newHosts() (hosts host.Fleet, unsupported error) {
	for _, c := range st.state.Hosts() {
		one := host.Host{Host: st.host, Name: c.Name, Dir: st.nodeDir(c.Name)}
		if err := host.Supported(one.Dir); err != nil {
			return nil, err
		}
		var follows []host.Follows
		for _, f := range c.Follows {
			follows = append(follows, host.Follows{Name: f.Name, URL: st.state.OrgURL() + "/" + f.Repository, Branch: f.Branch, Path: f.Path})
		}
		hosts = append(hosts, host.NewReconciler(&host.Reconciler{
			Host: one, Follows: follows, Interval: subscriptionInterval, Forge: st.state.ForgeURL(), Log: st.log,
			Credentials: func() (string, string, error) {
				token, err := os.ReadFile(st.gitea.TokenFile(gitea.FluxToken))
				return reconcilerUser, strings.TrimSpace(string(token)), err
			},
		}))
	}
	return hosts, nil
}

// Host is the host of a name. The error is a *usage.Error for what is none, and why there are
// none where this machine cannot have any.
func (st *Stack) Host(name string) (host.Host, error) {
	var names []string
	for _, c := range st.state.Hosts() {
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return host.Host{}, usage.Errorf("the workshop has no hosts; `kalypso kubectl --context %s` leads to a cluster", name)
	}
	if err := state.CheckName("host", name, names); err != nil {
		return host.Host{}, err
	}
	for _, r := range st.hosts {
		if r.Host.Name == name {
			return r.Host, nil
		}
	}
	return host.Host{}, st.noHosts
}

// hostUnits are the hosts, each with Ansible on it, and of what they are made of that which
// other units have not unpacked.
func (st *Stack) hostUnits(others []supervisor.Unit) []supervisor.Unit {
	if len(st.hosts) == 0 {
		return nil
	}
	var units []supervisor.Unit
	for _, program := range []string{"node", "relay"} {
		if !slices.ContainsFunc(others, func(u supervisor.Unit) bool { return u.Name == "unpack-"+program }) {
			units = append(units, st.unpack(program, "unpack-gitea"))
		}
	}
	for _, r := range st.hosts {
		machine := r.Host.Unit("unpack-node", "unpack-relay")
		units = append(units, grouped(r.Host.Name, []supervisor.Unit{machine, r.Unit(machine.Name, "repositories")})...)
	}
	return units
}

// report is that of a host; false where this machine cannot have it.
func (st *Stack) hostReport(name string) (fleet.Cluster, bool) {
	for _, r := range st.hosts {
		if r.Host.Name == name {
			return r.Report().Cluster(), true
		}
	}
	return fleet.Cluster{}, false
}

// listHosts are the hosts as `kalypso cluster list` has them.
func (st *Stack) listHosts(components []supervisor.Status) []Cluster {
	var all []Cluster
	for _, c := range st.state.Hosts() {
		one := Cluster{Name: c.Name, Type: cmp.Or(c.Type, c.Name), Kind: workshop.Host, Reconciler: c.Reconciler, State: string(supervisor.Ready)}
		report, runs := st.hostReport(c.Name)
		for _, f := range c.Follows {
			follows := ClusterFollows{Name: f.Name, Repository: f.Repository, Branch: f.Branch, Path: f.Path}
			for _, s := range report.Subscriptions {
				if s.Parent == nil && s.Name == f.Name {
					follows.Applied = s.Applied
				}
			}
			one.Follows = append(one.Follows, follows)
		}
		switch i := slices.IndexFunc(components, func(s supervisor.Status) bool { return s.Group == c.Name && s.State != supervisor.Ready }); {
		case !runs:
			one.State, one.Reason = hostSimulated, st.noHosts.Error()
		case i >= 0:
			one.State, one.Reason = string(components[i].State), components[i].Reason
		}
		all = append(all, one)
	}
	return all
}

// hostSimulated is the state of a host that this machine cannot have.
const hostSimulated = "simulated"

// fillHosts adds what hosts have to say to a status, and to which environments are applied,
// by name. One that does not run does not count for that.
func (st *Stack) fillHosts(ctx context.Context, status *Status, environments []controller.EnvironmentStatus, applied map[string]bool) {
	if st.noHosts != nil {
		status.Problems = append(status.Problems, Problem{Reason: "the workshop's hosts do not run here: " + st.noHosts.Error()})
	}
	all, _ := st.hosts.Inventory(ctx) // of what this process knows
	for _, c := range all.Clusters {
		if c.Unknown != "" {
			continue
		}
		for _, s := range c.Subscriptions {
			if s.State == fleet.NonCompliant && (s.Parent != nil || !strings.Contains(s.Reason, ": task ")) {
				status.Problems = append(status.Problems, Problem{Cluster: c.Name, Object: fmt.Sprintf("%s %s", s.Kind, s.Name), Reason: s.Reason})
			}
			for _, e := range environments {
				if s.Parent == nil && s.Branch == e.Name {
					was, followed := applied[e.Name]
					applied[e.Name] = s.Applied == e.GitOpsHead && (was || !followed)
				}
			}
		}
	}
}
