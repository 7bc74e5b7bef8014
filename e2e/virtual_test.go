//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox"
)

const virtualLimit = time.Minute

// TestVirtualClusters adds virtual clusters to a sandbox that runs, of both
// reconcilers, and lets them follow a commit.
func TestVirtualClusters(t *testing.T) {
	m := newMachine(t)
	m.up()
	m.settle()
	m.run("cluster", "add", "store-{001..200}", "--virtual", "--type", "drone", "-e", "dev", "-e", "stage")
	m.run("cluster", "add", "edge-{01..50}", "--virtual", "--type", "large", "-e", "dev", "--failing", "0.2", "--seed", "7")
	m.awaitClusters(250, func(c sandbox.Cluster) bool { return c.State == "ready" || c.State == "failed" })
	reconcilers, failed := map[string]int{}, 0
	for _, c := range m.clusters() {
		reconcilers[string(c.Kind)+" "+string(c.Reconciler)]++
		if c.State == "failed" {
			failed++
		}
	}
	if reconcilers["virtual flux"] != 200 || reconcilers["virtual argocd"] != 50 || failed == 0 || failed == 50 {
		t.Errorf("%v, %d failed", reconcilers, failed)
	}

	commit := m.commitTo("kalypso-gitops", "dev", "drone/virtual.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: virtual, namespace: default}\n")
	m.awaitClusters(200, func(c sandbox.Cluster) bool {
		return strings.HasPrefix(c.Name, "store-") && c.State == "ready" && c.Follows[0].Applied == commit
	})
	var groups []string
	for _, g := range m.status().Virtual {
		groups = append(groups, fmt.Sprint(g.First, " ", g.Last, " ", g.Count))
	}
	if strings.Join(groups, ", ") != "edge-01 edge-50 50, store-001 store-200 200" {
		t.Errorf("%q", groups)
	}
	var connected []struct {
		Name string
		Tags map[string]string
	}
	m.decode(m.run("az", "connectedk8s", "list", "--output", "json").stdout, &connected)
	n := 0
	for _, c := range connected {
		if c.Tags["kalypso-virtual"] == "true" {
			n++
		}
	}
	if n != 200 {
		t.Errorf("Azure has %d virtual clusters", n)
	}

	m.run("down")
	m.up()
	m.settle()
	m.awaitClusters(200, func(c sandbox.Cluster) bool {
		return strings.HasPrefix(c.Name, "store-") && c.State == "ready" && c.Follows[0].Applied == commit
	})
	m.run("cluster", "remove", "store-{001..100}")
	m.awaitClusters(150, func(sandbox.Cluster) bool { return true })
	m.run("reset", "--yes")
	m.awaitClusters(0, func(sandbox.Cluster) bool { return true })
}

func (m *machine) clusters() (all []sandbox.Cluster) {
	m.t.Helper()
	m.decode(m.run("cluster", "list", "-o", "json").stdout, &all)
	return all
}

// awaitClusters waits until so many virtual clusters are as they should be.
func (m *machine) awaitClusters(n int, is func(sandbox.Cluster) bool) {
	m.t.Helper()
	err := retry.Until(m.t.Context(), "virtual clusters", virtualLimit, func(context.Context) error {
		has := 0
		for _, c := range m.clusters() {
			if c.Kind == "virtual" && is(c) {
				has++
			}
		}
		if has != n {
			return fmt.Errorf("%d are so, %d are to be", has, n)
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// commitTo writes a file on a branch, as a merge does, and returns the commit.
func (m *machine) commitTo(repository, branch, path, content string) string {
	m.t.Helper()
	body, err := json.Marshal(map[string]string{"branch": branch, "message": "a file", "content": base64.StdEncoding.EncodeToString([]byte(content))})
	if err != nil {
		m.t.Fatal(err)
	}
	var made struct{ Commit struct{ SHA string } }
	m.decode(m.forge(http.MethodPost, "repos/kalypso/"+repository+"/contents/"+path, string(body)), &made)
	return made.Commit.SHA
}
