package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// Assigned is which clusters of a type are in which wave. Its JSON is for scripts: fields
// are added, not changed.
type Assigned struct {
	Clusters []AssignedCluster `json:"clusters"` // by name
	Overlaps []string          `json:"overlaps"` // clusters that several waves select
	Empty    []string          `json:"empty"`    // waves without a cluster
}

// AssignedCluster is a cluster with its wave.
type AssignedCluster struct {
	Cluster string `json:"cluster"`
	Wave    string `json:"wave"`
	Branch  string `json:"branch"`  // that it has to follow
	Follows string `json:"follows"` // that it follows
	// Commands have it follow the branch; none where it does.
	Commands []string `json:"commands"`
}

// Assign says which wave each cluster of a rollout's type is in.
func (d *Driver) Assign(ctx context.Context, env Environment, of model.Rollout) (Assigned, error) {
	if d.options.Fleet == nil {
		return Assigned{}, errors.New("the scheduler's configuration has no observe, which names the fleet")
	}
	snapshot, err := d.options.Fleet.Inventory(ctx)
	if err != nil {
		return Assigned{}, err
	}
	r := &run{Driver: d, env: env, rollout: of, snapshot: snapshot}
	var clusters []rollout.Cluster
	var roots []fleet.Subscription
	for _, c := range snapshot.Clusters {
		if root, wave, ok := r.root(c); ok {
			clusters, roots = append(clusters, rollout.Cluster{Name: c.Name, Labels: c.Labels, Wave: wave}), append(roots, root)
		}
	}
	waves := rollout.Assign(of.Spec, clusters)
	a := Assigned{Clusters: []AssignedCluster{}, Overlaps: append([]string{}, waves.Overlaps...), Empty: append([]string{}, waves.Empty...)}
	for i, c := range clusters {
		one := AssignedCluster{Cluster: c.Name, Wave: waves.Waves[c.Name], Follows: roots[i].Branch, Commands: []string{}}
		if one.Branch = rollout.Branch(env.Name, of.Spec.ClusterType, one.Wave); one.Branch != one.Follows {
			one.Commands = append(one.Commands, follow(c.Name, roots[i], one.Branch))
		}
		a.Clusters = append(a.Clusters, one)
	}
	return a, nil
}

// root is the subscription by which a cluster follows the type's folder, and the wave whose
// branch that is on, "" for the environment's.
func (r *run) root(c fleet.Cluster) (root fleet.Subscription, wave string, ok bool) {
	folder := model.CleanFolder(r.env.GitOps.Path + "/" + r.clusterType())
	for _, s := range c.Subscriptions {
		if s.Repo == "" || !fleet.SameRepository(s.Repo, r.env.GitOps.Repo) || model.CleanFolder(s.Path) != folder {
			continue
		}
		if name, is := rollout.WaveOf(s.Branch, r.env.Name, r.clusterType()); is {
			return s, name, true
		}
		if s.Branch == r.env.GitOps.Branch && !ok {
			root, ok = s, true
		}
	}
	return root, "", ok
}

// follow is the command that has a cluster follow another branch. What Azure's agent has
// made it would put back, and calls CONFIGURATION and CONFIGURATION-KUSTOMIZATION.
func follow(cluster string, root fleet.Subscription, branch string) string {
	if root.Kind == fleet.Application {
		return fmt.Sprintf(`kubectl --context %s -n %s patch application.argoproj.io %s --type merge -p '{"spec":{"source":{"targetRevision":"%s"}}}'`,
			quote(cluster), quote(root.Namespace), quote(root.Name), branch)
	}
	source := root.Ref
	if root.Source != nil {
		source = *root.Source
	}
	if root.Source != nil && strings.HasPrefix(root.Name, source.Name+"-") {
		return fmt.Sprintf("az k8s-configuration flux update --cluster-type connectedClusters --resource-group RESOURCE_GROUP --cluster-name %s --name %s --branch %s",
			quote(cluster), quote(source.Name), branch)
	}
	return fmt.Sprintf(`kubectl --context %s -n %s patch gitrepository.source.toolkit.fluxcd.io %s --type merge -p '{"spec":{"ref":{"branch":"%s"}}}'`,
		quote(cluster), quote(source.Namespace), quote(source.Name), branch)
}

// quote quotes a word for a shell where it needs it: names come from clusters.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._/:@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
