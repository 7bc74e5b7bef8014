//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/kubernetes"
)

// hubClient is a browser that is signed in to the sandbox's hub.
type hubClient struct {
	m      *machine
	server string
	client *http.Client
}

// hub signs a browser in with a ticket, as its page does.
func (m *machine) hub() hubClient {
	m.t.Helper()
	server, ticket := m.ticket()
	h := hubClient{m, server, &http.Client{Timeout: 15 * time.Second}}
	h.client.Jar, _ = cookiejar.New(nil) // fails for no options
	if code := h.enter(ticket); code != http.StatusNoContent {
		m.t.Fatalf("a ticket is answered with %d", code)
	}
	return h
}

// ticket is what `kalypso open hub` prints.
func (m *machine) ticket() (server, ticket string) {
	m.t.Helper()
	printed := strings.TrimSpace(m.run("open", "hub", "--print").stdout)
	u, err := url.Parse(printed)
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/enter" || !strings.HasPrefix(u.Fragment, "t=") {
		m.t.Fatalf("open hub prints %q: %v", printed, err)
	}
	return "http://" + u.Host, strings.TrimPrefix(u.Fragment, "t=")
}

// enter spends a ticket and returns the answer's code.
func (h hubClient) enter(ticket string) int {
	h.m.t.Helper()
	body, err := json.Marshal(map[string]string{"ticket": ticket})
	if err != nil {
		h.m.t.Fatal(err)
	}
	response, err := h.client.Post(h.server+"/enter", "application/json", bytes.NewReader(body))
	if err != nil {
		h.m.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// get reads a document of the API.
func (h hubClient) get(path string, into any) error {
	response, err := h.client.Get(h.server + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

// waitForPlacements waits until the hub's placements of environment dev are as wanted.
func (h hubClient) waitForPlacements(what string, wanted func([]onCluster) error) {
	h.m.t.Helper()
	waitFor(h.m.t, what, 30*time.Second, func() error {
		var list struct{ Items []onCluster }
		if err := h.get("/api/v1/placements?env=dev&limit=500", &list); err != nil {
			return err
		}
		return wanted(list.Items)
	})
}

// hubOfHelloWorld reads the hub by its API: who gets in, that it knows what the command
// line knows, a cluster that is stopped, and a hub that has lost its database.
func hubOfHelloWorld(t *testing.T, m *machine) {
	server, ticket := m.ticket()
	h := hubClient{m, server, &http.Client{Timeout: 15 * time.Second}}
	h.client.Jar, _ = cookiejar.New(nil) // fails for no options
	if err := h.get("/api/v1/placements", nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a session: %v", err)
	}
	// a look at the page, as previews of links have it, spends nothing
	if err := h.get("/enter", nil); err != nil {
		t.Error(err)
	}
	for i, want := range []int{http.StatusNoContent, http.StatusUnauthorized} {
		if code := h.enter(ticket); code != want {
			t.Errorf("spent for the %d. time: %d", i+1, code)
		}
	}

	h.followsAPush()
	waitFor(t, "answers of all that the hub reads", 30*time.Second, func() error {
		var sources struct {
			Items []struct{ Name, State, Reason string }
		}
		if err := h.get("/api/v1/sources", &sources); err != nil {
			return err
		}
		for _, s := range sources.Items {
			if s.State != "ok" {
				return fmt.Errorf("%s is %s: %s", s.Name, s.State, s.Reason)
			}
		}
		if len(sources.Items) == 0 {
			return errors.New("it reads nothing")
		}
		return nil
	})
	known := m.placements("dev")
	if len(known) < 2 {
		t.Fatalf("placements: %+v", known)
	}
	same := func(all []onCluster) error {
		for _, want := range known {
			i := slices.IndexFunc(all, func(p onCluster) bool { return p.Cluster == want.Cluster && p.Target == want.Target })
			if i < 0 || all[i].State != want.State || all[i].Actual != want.Actual || all[i].Desired != want.Desired || !all[i].Since.Equal(want.Since.Truncate(time.Millisecond)) {
				return fmt.Errorf("%+v, and the command line has %+v", all, want)
			}
		}
		return nil
	}
	h.waitForPlacements("what the command line says", same)
	var matrix struct {
		Rows, Cols []struct{ Name string }
		Versions   []string
		Cells      [][]int
	}
	if err := h.get("/api/v1/environments/dev/matrix", &matrix); err != nil || len(matrix.Rows) < 2 || len(matrix.Cols) < 2 || len(matrix.Cells) < len(known) {
		t.Errorf("%v: %+v", err, matrix)
	}
	for _, p := range known {
		version := p.Actual.Version
		if version == "" {
			version = p.Actual.Commit[:min(len(p.Actual.Commit), 8)]
		}
		if !slices.Contains(matrix.Versions, version) {
			t.Errorf("the matrix lacks version %s: %+v", version, matrix)
		}
	}

	m.run("stop", "large")
	h.waitForPlacements("the stopped cluster is unknown", func(all []onCluster) error {
		n := 0
		for _, p := range all {
			i := slices.IndexFunc(known, func(k onCluster) bool { return k.Cluster == p.Cluster && k.Target == p.Target })
			if p.Cluster != "large" || i < 0 {
				continue
			}
			if n++; p.State != "unknown" || p.Reason == "" || p.Actual.Version != known[i].Actual.Version || p.AsOf.IsZero() {
				return fmt.Errorf("%+v", p)
			}
		}
		if n == 0 {
			return errors.New("there are none")
		}
		return nil
	})
	t.Run("Page", func(t *testing.T) { lookAtHub(t, m, "STOPPED=large") })
	m.run("start", "large")

	for _, name := range []string{"hub.db", "hub.db-wal", "hub.db-shm"} {
		if err := os.Remove(filepath.Join(m.home, "hub", name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	before := m.pids()["hub"]
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "another hub", 30*time.Second, func() error {
		if now := m.pids()["hub"]; now == 0 || now == before {
			return fmt.Errorf("process %d", now)
		}
		if s := m.status(); !s.Ready {
			return fmt.Errorf("%+v", s.Problems)
		}
		return nil
	})
	m.hub().waitForPlacements("what the command line says, from a new database", same)
	waitFor(t, "the history of git, from a new database", 30*time.Second, func() error {
		found, err := m.try("hub", "verify")
		if err != nil {
			return fmt.Errorf("%w: %s", err, found.stdout)
		}
		return nil
	})
}

// arrivalLimit is how long after the gate of a promotion the hub may know that all clusters have
// a commit.
const arrivalLimit = 5 * time.Second

// followsAPush pushes to the branch that the clusters of dev follow, and holds that the hub knows
// soon after fleet.Judge that it has arrived on all.
func (h hubClient) followsAPush() {
	m := h.m
	m.t.Helper()
	clusters, err := kubernetes.FromKubeconfig(filepath.Join(m.home, "kubeconfig"))
	if err != nil {
		m.t.Fatal(err)
	}
	branch := fleet.Source{Repo: m.credentials().OrgURL + "/" + m.platform(), Branch: "dev"}
	commit := m.push(m.platform(), branch.Branch, map[string]string{"NOTES.md": time.Now().Format(time.RFC3339Nano) + "\n"})
	waitFor(m.t, "the commit on all clusters", chainLimit, func() error {
		all, err := clusters.Observe(m.t.Context(), branch)
		if err != nil {
			return err
		}
		if v := fleet.Judge(all, commit); v.Decision != fleet.Arrived || v.All == 0 {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	arrived := time.Now()
	waitFor(m.t, "the change on all clusters, in the hub", chainLimit, func() error {
		var list struct {
			Items []struct {
				SHA, State string
				Stages     struct{ Merged, FirstApplied, Applied time.Time }
			}
		}
		if err := h.get("/api/v1/changes?q="+commit, &list); err != nil {
			return err
		}
		for _, c := range list.Items {
			if c.SHA == commit && c.State == "applied" && !c.Stages.Applied.IsZero() {
				return nil
			}
		}
		return fmt.Errorf("%+v", list.Items)
	})
	if late := time.Since(arrived); late > arrivalLimit {
		m.t.Errorf("the hub knows %s after the gate that the commit has arrived, want %s", late, arrivalLimit)
	} else {
		m.t.Logf("the hub knows it %s after the gate", late)
	}
}

// hubKnowsStopped holds that the hub says within half a minute that a cluster cannot be
// asked.
func (m *machine) hubKnowsStopped(cluster string) {
	m.t.Helper()
	h := m.hub()
	waitFor(m.t, cluster+" is unknown to the hub", 30*time.Second, func() error {
		var c struct{ Unknown string }
		if err := h.get("/api/v1/clusters/"+url.PathEscape(cluster), &c); err != nil {
			return err
		}
		if c.Unknown == "" {
			return errors.New("it is known")
		}
		return nil
	})
}
