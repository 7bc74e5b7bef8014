package plan

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// The labels that a deployment target gets from the platform.
const (
	workloadLabel  = "workload"
	workspaceLabel = "workspace"
)

// target is a deployment target with all that planning needs of it.
type target struct {
	Target
	manifests map[string]string
	schemas   []schema
	twins     []model.Position // other targets with the same name
	digest    digest           // of the workload and its registration
}

// targetsOf returns the environment's deployment targets, sorted by name.
//
// The name joins two names by "-", so two targets may share one. Then nobody
// can say whose files lie in the folder of that name: all of them are marked.
func targetsOf(env *model.Environment) []*target {
	var targets []*target
	for _, workload := range env.Workloads {
		digest := workloadDigest(workload)
		for i, spec := range workload.Spec.DeploymentTargets {
			if spec.Environment != env.Name {
				continue
			}
			path := []string{"spec", "deploymentTargets", strconv.Itoa(i)}
			labels := map[string]string{}
			maps.Copy(labels, spec.Labels)
			maps.Copy(labels, workload.Labels)
			labels[workloadLabel] = workload.Name
			labels[workspaceLabel] = workload.Registration.Spec.Workspace
			t := &target{
				Target: Target{
					Name:      workload.Name + "-" + spec.Name,
					Workload:  workload.Name,
					Workspace: workload.Registration.Spec.Workspace,
					Labels:    labels,
					Position:  workload.At(append(path, "name")...),
				},
				manifests: spec.Manifests,
				digest:    digest,
			}
			for n, text := range spec.ConfigSchemas {
				t.schemas = append(t.schemas, schema{
					text:     text,
					position: workload.At(append(slices.Clone(path), "configSchemas", strconv.Itoa(n))...),
				})
			}
			for n, text := range workload.Spec.ConfigSchemas {
				t.schemas = append(t.schemas, schema{
					text:     text,
					position: workload.At("spec", "configSchemas", strconv.Itoa(n)),
				})
			}
			targets = append(targets, t)
		}
	}
	slices.SortFunc(targets, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Workload, b.Workload))
	})
	markTwins(targets)
	return targets
}

func markTwins(targets []*target) {
	byName := map[string][]*target{}
	for _, t := range targets {
		byName[t.Name] = append(byName[t.Name], t)
	}
	for _, group := range byName {
		for _, t := range group {
			for _, other := range group {
				if other != t {
					t.twins = append(t.twins, other.Position)
				}
			}
		}
	}
}

func workloadDigest(workload model.Workload) digest {
	h := sha256.New()
	write(h, workload.Digest())
	write(h, workload.Registration.Digest())
	return digest(h.Sum(nil))
}
