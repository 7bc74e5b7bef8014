//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	chaosRounds  = 8
	chaosSeed    = 20250301
	longestMercy = 2 * time.Second // between the push and the kill
	chaosLimit   = 60 * time.Second
)

// TestChaos kills -9 the parts of a running sandbox, its supervisor and the
// programs within its nodes, at random moments of the tutorial's road: a push,
// the pull request for it, its merge, and the change on both clusters. After
// each kill `up` must bring everything back, the road must be open, and what
// was there before must be there once, and be the same. KALYPSO_ROUNDS is the
// number of kills and KALYPSO_SEED chooses others, for a long search.
func TestChaos(t *testing.T) {
	rounds, seed := number(t, "KALYPSO_ROUNDS", chaosRounds), number(t, "KALYPSO_SEED", chaosSeed)
	m := newMachine(t)
	m.up()
	m.settle()
	m.part("Workshop", workshopInBrowser)
	m.part("Share", shareTheHub)
	m.run("scenario", "run", "onboard-app", "schedule-dev")
	// what it has merged goes on by itself
	m.waitForPromotion("stage", m.head(controlPlane, "main"))
	m.settle()
	c := &chaos{machine: m, random: rand.New(rand.NewPCG(uint64(seed), 1)), took: map[string][]time.Duration{}}
	c.before = c.lasting()
	for round := range rounds {
		if !t.Run(strconv.Itoa(round+1), func(t *testing.T) {
			m.t = t
			c.round(round + 1)
		}) {
			m.t = t
			for _, name := range []string{"daemon", "scheduler", c.victim} {
				if out, err := m.try("logs", name, "-n", "30"); err == nil {
					t.Logf("last lines of %s:\n%s", name, out.stdout)
				}
			}
			t.Fatalf("seed %d: no sandbox to go on with after round %d", seed, round+1)
		}
		m.t = t
	}
	t.Logf("%d kills, seed %d. Time from kill to all ready:\n%s", rounds, seed, c.summary())
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

type chaos struct {
	*machine
	random *rand.Rand
	before map[string]string
	victim string
	took   map[string][]time.Duration
}

// round is one change of the platform's configuration, and one kill on its way.
func (c *chaos) round(n int) {
	const repo, branch, file = "kalypso-control-plane", "dev", "configs/chaos-config.yaml"
	value := "round-" + strconv.Itoa(n)
	dir, err := os.MkdirTemp(c.dir, "chaos-")
	if err != nil {
		c.t.Fatal(err)
	}
	c.git(dir, "clone", "--quiet", "--branch", branch, c.credentials().OrgURL+"/"+repo, ".")
	if err := os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, chaosConfig, value), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.git(dir, "add", "--all")
	c.git(dir, "commit", "--quiet", "--message", "Chaos, "+value)

	pushed := make(chan error, 1)
	go func() {
		_, err := c.tryGit(dir, "push", "--quiet", "origin", "HEAD")
		pushed <- err
	}()
	name, pid := c.choose()
	mercy := time.Duration(c.random.Int64N(int64(longestMercy)))
	time.Sleep(mercy)
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.t.Fatal(err)
	}
	waitFor(c.t, "end of "+name, endLimit, func() error { return gone(pid) })
	out := c.up()
	c.took[name] = append(c.took[name], time.Since(killed))
	c.t.Logf("%s killed %.2f s after the push; up again after %.2f s, of which up took %.2f s", name, mercy.Seconds(), time.Since(killed).Seconds(), out.took.Seconds())

	// a push that was refused is the user's to repeat
	if err := <-pushed; err != nil {
		waitFor(c.t, "push after the kill", 15*time.Second, func() error {
			_, err := c.tryGit(dir, "push", "--quiet", "origin", "HEAD")
			return err
		})
	}
	c.merge(value)
	for _, cluster := range []string{"drone", "large"} {
		waitFor(c.t, value+" on cluster "+cluster, chaosLimit, func() error {
			out, err := c.try("kubectl", "--context", cluster, "get", "configmaps", "--all-namespaces",
				"--field-selector", "metadata.name=platform-config", "-o", "jsonpath={.items[*].data.CHAOS}")
			if err != nil {
				return fmt.Errorf("%w\n%s", err, out.stderr)
			}
			for _, got := range append(strings.Fields(out.stdout), "") {
				if got == value {
					return nil
				}
			}
			return fmt.Errorf("has %q", out.stdout)
		})
	}
	if diff := cmp.Diff(c.before, c.lasting()); diff != "" {
		c.t.Errorf("not the same sandbox:\n%s", diff)
	}
}

// merge waits for the pull request with the value, which must be the only one,
// and merges it.
func (c *chaos) merge(value string) {
	c.t.Helper()
	waitFor(c.t, "a pull request with "+value, chaosLimit, func() error {
		var open []pull
		for _, p := range c.pulls("kalypso-gitops") {
			if p.State == "open" && p.Base.Ref == "dev" {
				open = append(open, p)
			}
		}
		if len(open) != 1 {
			return fmt.Errorf("%d pull requests to dev are open", len(open))
		}
		diff, err := c.tryForge(http.MethodGet, fmt.Sprintf("repos/kalypso/kalypso-gitops/pulls/%d.diff", open[0].Number), "")
		if err != nil {
			return err
		}
		if !strings.Contains(diff, "+  CHAOS: "+value) {
			return fmt.Errorf("pull request %d has not got it:\n%s", open[0].Number, diff)
		}
		_, err = c.tryForge(http.MethodPost, fmt.Sprintf("repos/kalypso/kalypso-gitops/pulls/%d/merge", open[0].Number), `{"Do": "merge"}`)
		return err
	})
}

// choose picks a component, the daemon, or a program within a node.
func (c *chaos) choose() (string, int) {
	c.t.Helper()
	pids := c.pids()
	names := slices.Sorted(maps.Keys(pids))
	c.victim = names[c.random.IntN(len(names))]
	pid := pids[c.victim]
	if !strings.HasPrefix(c.victim, "node-") || c.random.IntN(4) == 0 {
		return c.victim, pid
	}
	inner := below(pid)
	if len(inner) == 0 {
		return c.victim, pid
	}
	pid = inner[c.random.IntN(len(inner))]
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return c.victim + ": " + strings.TrimSpace(string(comm)), pid
}

// below are a process's descendants.
func below(pid int) []int {
	var all []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), below(child)...)
			}
		}
	}
	return all
}

// lasting is what no kill and no round may change: the branches that nobody
// pushes to, the issues, the first pull requests, and the identities of the
// clusters' objects.
func (c *chaos) lasting() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for name, commit := range c.heads() {
		if !slices.Contains([]string{"kalypso-control-plane dev", "kalypso-gitops dev", "kalypso-gitops kalypso/dev"}, name) {
			all[name] = commit
		}
	}
	titles := map[string]int{}
	for _, r := range c.repositories() {
		var issues []struct{ Title string }
		c.decode(c.forge(http.MethodGet, "repos/kalypso/"+r.Name+"/issues?type=issues&state=all", ""), &issues)
		for _, i := range issues {
			titles[r.Name+": "+i.Title]++
		}
	}
	for title, n := range titles {
		all["issue "+title] = strconv.Itoa(n)
	}
	for cluster, kinds := range map[string]string{
		"drone": "nodes,namespaces,configmaps,secrets,services,deployments,gitrepositories,kustomizations",
		"large": "nodes,namespaces,configmaps,secrets,services,deployments,resourcequotas,applications,appprojects",
	} {
		var list struct {
			Items []struct {
				Kind     string
				Metadata struct{ Name, Namespace, UID string }
			}
		}
		c.decode(c.run("kubectl", "--context", cluster, "get", kinds, "--all-namespaces", "-o", "json").stdout, &list)
		for _, o := range list.Items {
			all[cluster+" "+o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name] = o.Metadata.UID
		}
	}
	return all
}

func (c *chaos) summary() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.took)) {
		all := c.took[name]
		slices.Sort(all)
		fmt.Fprintf(&b, "  %-28s %3d times, median %5.2f s, longest %5.2f s\n", name, len(all), all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
	}
	return b.String()
}

const chaosConfig = `apiVersion: v1
kind: ConfigMap
metadata:
  name: chaos-config
  labels:
    platform-config: "true"
data:
  CHAOS: %s
`
