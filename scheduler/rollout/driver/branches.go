package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// bring makes a wave's branch hold the commit that the state has for it, and says whether
// it did not.
func (r *run) bring(ctx context.Context, wave string) (wrote bool, err error) {
	branch, wanted := rollout.Branch(r.env.Name, r.clusterType(), wave), r.state.Waves[wave]
	head, err := r.options.Forge.Head(ctx, r.ref(branch, ""))
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return false, err
	}
	if err == nil {
		switch mark, err := r.marks.of(ctx, r.env.GitOps.Repo, branch, head); {
		case err != nil:
			return false, err
		case mark.own && mark.Commit == wanted:
			return false, nil
		}
	} else {
		head = ""
	}
	mark := rollout.Wave{
		Environment: r.env.Name, Branch: r.env.GitOps.Branch, ClusterType: r.clusterType(), Rollout: r.state.Rollout, Wave: wave, Commit: wanted,
	}
	content, err := mark.Encode()
	if err != nil {
		return false, err
	}
	request := forge.CommitRequest{
		Branch: branch, Parent: head, Expect: head, FastForward: true, Tree: wanted, When: r.options.Now().UTC().Truncate(time.Second),
		Message: message(fmt.Sprintf("Wave %s: commit %.8s", wave, wanted), "Rollout", r.state.Rollout, "Wave", wave, "Environment", r.env.Name, "Environment-Commit", wanted),
		Changes: []forge.Change{{Path: rollout.WaveFile, Content: content}}, AllowEmpty: true,
	}
	if head == "" {
		request.Parent, request.Expect, request.FastForward = wanted, forge.NoBranch, false
	}
	if _, err = r.options.Forge.Commit(ctx, r.repo, request); err != nil {
		return false, err
	}
	r.out.Writes++
	return true, nil
}

// message is that of a commit, with trailers.
func message(subject string, trailers ...string) string {
	var b strings.Builder
	b.WriteString(subject + "\n\n")
	for i := 0; i+1 < len(trailers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\n", trailers[i], trailers[i+1])
	}
	return b.String()
}

// saveState commits a state on top of the commit that it follows on, "" for the first.
func saveState(ctx context.Context, f forge.Forge, repo, branch, at string, state *rollout.State, subject string, now time.Time) (string, error) {
	content, err := state.Encode()
	if err != nil {
		return "", err
	}
	request := forge.CommitRequest{
		Branch: branch, Parent: at, Expect: at, FastForward: true, Tree: state.Target, When: now.UTC().Truncate(time.Second),
		Message: message(strings.ToUpper(subject[:1])+subject[1:], "Rollout", state.Rollout, "Environment", state.Environment, "Environment-Commit", state.Target),
		Changes: []forge.Change{{Path: rollout.StateFile, Content: content}}, AllowEmpty: true,
	}
	if at == "" {
		request.Parent, request.Expect, request.FastForward = state.Target, forge.NoBranch, false
	}
	return f.Commit(ctx, repo, request)
}

// clusters are those of the type: they follow its folder, on the environment's branch or on
// that of a wave.
func (r *run) clusters(ctx context.Context) ([]rollout.Cluster, error) {
	var all []rollout.Cluster
	for _, c := range r.snapshot.Clusters {
		root, wave, ok := r.root(c)
		if !ok {
			continue
		}
		branch, one := root.Branch, rollout.Cluster{Name: c.Name, Labels: c.Labels, Wave: wave}
		for _, configuration := range c.Configurations(fleet.Source{Repo: r.env.GitOps.Repo, Branch: branch}) {
			if one.Wave != "" && configuration.Commit != "" {
				m, err := r.marks.of(ctx, r.env.GitOps.Repo, branch, configuration.Commit)
				if err != nil && !errors.Is(err, forge.ErrNotFound) {
					return nil, err
				}
				configuration.Commit = m.Commit
			}
			one.Configurations = append(one.Configurations, configuration)
		}
		all = append(all, one)
	}
	return all, nil
}
