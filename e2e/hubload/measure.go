package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// readers is how many ask at a time.
const readers = 2

// query is one of the questions of pages, and who asks it.
type query struct{ name, path, token string }

// queries are about the environment that has most clusters. all may see everything, team what one
// of the teams has there.
func queries(f *fleet, all, team string) []query {
	const prod = "prod"
	last := f.clusters[len(f.clusters)-1].Name
	target := f.all[prod][len(f.all[prod])-1].Target
	matrix := "/environments/" + prod + "/matrix?cols=targets&limit=50"
	return []query{
		{"matrix of types", matrix + "&rows=types", all},
		{"matrix of types, one team", matrix + "&rows=types", team},
		{"matrix of types, by label", matrix + "&rows=types&label=region%3Dregion-1", all},
		{"matrix of 50 clusters", matrix + "&rows=clusters", all},
		{"matrix of what fails", matrix + "&rows=clusters&state=failing", all},
		{"placements, the worst", "/placements", all},
		{"placements of prod, by cluster", "/placements?env=prod&sort=cluster", all},
		{"placements of prod, by target", "/placements?env=prod&sort=target", all},
		{"placements of prod, the newest", "/placements?env=prod&sort=-since", all},
		{"placements of one team", "/placements", team},
		{"placements of a cluster", "/placements?env=prod&cluster=" + last, all},
		{"placements, filtered", "/placements?env=prod&state=failing&state=late&q=target-07&label=region+in+(region-1,region-2),edge%3Dtrue", all},
		{"placements, none found", "/placements?env=prod&q=there+is+nothing+like+it", all},
		{"clusters", "/clusters", all},
		{"clusters, where something fails", "/clusters?state=failing", all},
		{"environments", "/environments", all},
		{"workloads", "/workloads", all},
		{"drift", "/drift", all},
		{"comparison of two environments", "/compare?left=stage&right=prod", all},
		{"comparison, a few of what differs", "/compare?left=stage&right=prod&group=differs&limit=5", all},
		{"changes", "/changes", all},
		{"clusters of a change", "/changes/1/clusters", all},
		{"history of a placement", "/placements/" + prod + "/" + last + "/" + target + "/events", all},
		{"history of a target", "/targets/" + target + "/history", all},
	}
}

// ask sends a query to a hub.
func (q query) ask(ctx context.Context, client *http.Client, hub string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, hub+"/api/v1"+q.path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+q.token)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return err
}

// measure asks a hub all queries in turn for a while, and prints how long each took.
func measure(ctx context.Context, hub string, all []query, limit time.Duration) error {
	took := make([][]time.Duration, len(all))
	var mu sync.Mutex
	var failed error
	deadline := time.Now().Add(limit)
	var wait sync.WaitGroup
	for reader := range readers {
		wait.Go(func() {
			for i := reader; time.Now().Before(deadline); i++ {
				n := i % len(all)
				began := time.Now()
				err := all[n].ask(ctx, http.DefaultClient, hub)
				mu.Lock()
				took[n] = append(took[n], time.Since(began))
				if err != nil {
					failed = fmt.Errorf("%s: %w", all[n].name, err)
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wait.Wait()
	if failed != nil {
		return failed
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "query\ttimes\tp50\tp95\tp99\t")
	var every []time.Duration
	for i, q := range all {
		every = append(every, took[i]...)
		row(table, q.name, took[i])
	}
	row(table, "all", every)
	return table.Flush()
}

func row(table *tabwriter.Writer, name string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)*percent/100, len(took)-1)].Round(100 * time.Microsecond)
	}
	fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t\n", name, len(took), at(50), at(95), at(99))
}

// memory is the most that a process has had, as Linux says.
func memory(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "not known"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(size)
		}
	}
	return "not known"
}
