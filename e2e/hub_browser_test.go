//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// browseHub opens the hub's pages, which say what the command line does.
func browseHub(t *testing.T, m *machine) { lookAtHub(t, m) }

// lookAtHub runs the script that looks at the hub's pages, with further variables.
func lookAtHub(t *testing.T, m *machine, env ...string) {
	t.Helper()
	type shown struct {
		Environment string `json:"environment"`
		Cluster     string `json:"cluster"`
		ClusterType string `json:"clusterType"`
		Target      string `json:"target"`
		Version     string `json:"version"`
		State       string `json:"state"`
	}
	var all []shown
	for _, p := range m.placements("dev") {
		version := p.Actual.Version
		if version == "" {
			version = p.Actual.Commit[:min(len(p.Actual.Commit), 8)]
		}
		all = append(all, shown{p.Environment, p.Cluster, p.ClusterType, p.Target, version, p.State})
	}
	if len(all) == 0 {
		t.Fatal("there is no placement to look at")
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, m)
	link := strings.TrimSpace(m.run("open", "hub", "--print").stdout)
	b.check(t, filepath.Join(b.dir, "hub.mjs"), append(env, "HUB_LINK="+link, "PLACEMENTS="+string(data))...)
}
