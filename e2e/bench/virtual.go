package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

const (
	virtualClusters = 1000
	virtualLimit    = 5 * time.Minute
)

// virtual prints what a thousand virtual clusters cost, and how long a commit takes
// to all of them.
func (b *bench) virtual(watched time.Duration) error {
	before, err := b.status()
	if err != nil {
		return err
	}
	began := time.Now()
	name := fmt.Sprintf("bench-{0001..%04d}", virtualClusters)
	if _, err := b.kalypso("cluster", "add", name, "--virtual", "--type", "large", "--environment", "dev"); err != nil {
		return err
	}
	if err := b.awaitVirtual(func(c sandbox.Cluster) bool { return c.State == "ready" }); err != nil {
		return err
	}
	b.figure(fmt.Sprintf("%d virtual clusters, added until all are ready", virtualClusters), fmt.Sprintf("%.2f s", time.Since(began).Seconds()))

	cpu := func(s sandbox.Status) time.Duration { // of the daemon alone
		used := cpuTime(s.PID)
		for _, c := range s.Components {
			used -= cpuTime(c.PID)
		}
		return used
	}
	after, err := b.status()
	if err != nil {
		return err
	}
	used := cpu(after)
	time.Sleep(watched)
	used = cpu(after) - used
	b.figure("  idle CPU of the daemon", fmt.Sprintf("%.1f %% of a core", 100*used.Seconds()/watched.Seconds()))
	if after, err = b.status(); err != nil {
		return err
	}
	b.figure("  memory of the daemon (resident)", fmt.Sprintf("%d MiB, before %d MiB", after.MemoryBytes>>20, before.MemoryBytes>>20))

	began = time.Now()
	commit, err := b.commit()
	if err != nil {
		return err
	}
	err = b.awaitVirtual(func(c sandbox.Cluster) bool { return len(c.Follows) == 1 && c.Follows[0].Applied == commit })
	if err != nil {
		return err
	}
	b.figure("  from a merge until all have applied it", fmt.Sprintf("%.2f s", time.Since(began).Seconds()))
	_, err = b.kalypso("cluster", "remove", name)
	return err
}

func (b *bench) status() (s sandbox.Status, err error) {
	out, err := b.kalypso("status", "-o", "json")
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s, err
}

// awaitVirtual waits until all virtual clusters are as they should be.
func (b *bench) awaitVirtual(is func(sandbox.Cluster) bool) error {
	home := state.Home(b.home)
	return retry.Until(context.Background(), "virtual clusters", virtualLimit, func(ctx context.Context) error {
		all, err := sandbox.Clusters(ctx, home)
		n := 0
		for _, c := range all {
			if c.Kind == "virtual" && is(c) {
				n++
			}
		}
		if err == nil && n < virtualClusters {
			err = fmt.Errorf("%d of %d", n, virtualClusters)
		}
		return err
	}, retry.Backoff(50*time.Millisecond, 100*time.Millisecond))
}

// commit adds a file to the folder that the virtual clusters follow, as a merge
// does, and returns the commit.
func (b *bench) commit() (string, error) {
	c, err := sandbox.GetCredentials(state.Home(b.home))
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{
		"branch": "dev", "message": "a commit for the bench",
		"content": base64.StdEncoding.EncodeToString([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bench, namespace: default}\n")),
	})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequest(http.MethodPost, c.URL+"/api/v1/repos/"+sandbox.Organisation+"/kalypso-gitops/contents/large/bench.yaml", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.SetBasicAuth(c.User, c.Password)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusCreated {
		return "", errors.Join(err, fmt.Errorf("commit: %s: %s", response.Status, answer))
	}
	var made struct{ Commit struct{ SHA string } }
	err = errors.Join(err, json.Unmarshal(answer, &made))
	return made.Commit.SHA, err
}
