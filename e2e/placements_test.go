//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// onCluster is a row of `kalypso get placements`.
type onCluster struct {
	Cluster, Environment, ClusterType, Target string
	Desired, Actual                           struct{ Repo, Branch, Commit, Version string }
	State, Reason                             string
	Since, AsOf                               time.Time
}

func (m *machine) placements(environment string) []onCluster {
	m.t.Helper()
	var all []onCluster
	m.decode(m.run("get", "placements", "-e", environment, "-o", "json").stdout, &all)
	return all
}

// waitForPlacement waits until the placement of a target on a cluster has a state.
func (m *machine) waitForPlacement(cluster, target, state string) (found onCluster) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("%s on %s is %s", target, cluster, state), 90*time.Second, func() error {
		all := m.placements("dev")
		i := slices.IndexFunc(all, func(p onCluster) bool { return p.Cluster == cluster && p.Target == target })
		if i < 0 || all[i].State != state {
			return fmt.Errorf("%+v", all)
		}
		found = all[i]
		return nil
	})
	return found
}

// placements are what the clusters say that they have, by Flux and by Argo CD.
func placements(t *testing.T, m *machine) {
	const functional, performance = "hello-world-app-functional-test", "hello-world-app-performance-test"
	for _, c := range []struct{ cluster, target, object, path string }{
		{"drone", functional, "kustomization/" + functional, "{.status.lastAppliedRevision}"},
		{"large", performance, "application/" + performance, "{.status.sync.revision}"},
	} {
		p := m.waitForPlacement(c.cluster, c.target, "ok")
		namespace := map[string]string{"drone": "flux-system", "large": "argocd"}[c.cluster]
		revision := m.run("kubectl", "--context", c.cluster, "--namespace", namespace, "get", c.object, "-o", "jsonpath="+c.path).stdout
		if p.ClusterType != c.cluster || p.Actual.Commit == "" || !strings.HasSuffix(revision, p.Actual.Commit) || p.Actual.Version == "" || p.Actual.Version != p.Desired.Version {
			t.Errorf("%+v, and the cluster has %s", p, revision)
		}
		if p.Since.IsZero() || time.Since(p.Since) > time.Hour || time.Since(p.AsOf) > time.Minute || !strings.HasSuffix(p.Desired.Repo, "/kalypso-app-gitops") {
			t.Errorf("%+v", p)
		}
	}
	suspend := func(value string) {
		t.Helper()
		m.run("kubectl", "--context", "drone", "--namespace", "flux-system", "patch", "kustomization", functional, "--type=merge", "--patch", `{"spec": {"suspend": `+value+`}}`)
	}
	suspend("true")
	m.waitForPlacement("drone", functional, "suspended")
	suspend("false")
	m.waitForPlacement("drone", functional, "ok")
	if table := m.run("get", "placements", "-o", "wide").stdout; !strings.Contains(table, functional) || !strings.HasPrefix(table, "ENVIRONMENT") {
		t.Errorf("table:\n%s", table)
	}
}

// stoppedIsUnknown holds that nobody says of a cluster that is stopped how it is.
func (m *machine) stoppedIsUnknown(cluster string) {
	m.t.Helper()
	all := m.placements("dev")
	for _, p := range all {
		if p.Cluster == cluster && (p.State != "unknown" || p.Reason == "") {
			m.t.Errorf("a stopped cluster: %+v", p)
		}
	}
	if !slices.ContainsFunc(all, func(p onCluster) bool { return p.Cluster == cluster }) {
		m.t.Errorf("%s is not among the placements: %+v", cluster, all)
	}
}
