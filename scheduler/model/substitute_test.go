package model_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// TestSubstitute sends reads elsewhere and wants that to show in what was read
// and where it stands, and in nothing that the objects say.
func TestSubstitute(t *testing.T) {
	repos := modeltest.Parse(pointers + application + `
-- mine@feature/registration.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: mine}
spec:
  workload: {repo: https://forge.test/kalypso/shop, branch: main, path: ./workload}
  workspace: team
-- shop@feature/elsewhere/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: feature}
`)
	var asked []string
	elsewhere := func(_ context.Context, kind, name string, ref model.Reference) (model.Reference, error) {
		asked = append(asked, kind+" "+name+" "+ref.String())
		if kind == "BaseRepo" {
			return model.Reference{Repo: modeltest.Forge + "mine", Branch: "feature"}, nil
		}
		ref.Branch, ref.Path = "feature", "elsewhere"
		return ref, nil
	}
	env, err := model.LoadEnvironment(t.Context(), repos, "dev", dev, model.Substitute(elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"BaseRepo main control@main", "WorkloadRegistration mine shop@main:workload"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(env.Workloads) != 1 || env.Workloads[0].Position.String() != "shop@feature:elsewhere/workload.yaml:1" {
		t.Fatalf("workloads %+v, diagnostics %v", env.Workloads, lines(env.Diagnostics))
	}
	if got := env.Workloads[0].Registration; got.Position.String() != "mine@feature:registration.yaml:1" || got.Spec.Workload.Branch != "main" {
		t.Errorf("registration %+v", got)
	}
	var sources []string
	for _, s := range env.Sources {
		sources = append(sources, model.Reference{Repo: s.Repo, Branch: s.Branch, Path: s.Path}.String())
	}
	slices.Sort(sources)
	if diff := cmp.Diff([]string{"control@dev", "mine@feature", "shop@feature:elsewhere"}, sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// TestSubstituteFindings wants what is missing to be reported where it was
// looked for.
func TestSubstituteFindings(t *testing.T) {
	for name, c := range map[string]struct {
		ref  model.Reference
		want string
	}{
		"no workload":   {model.Reference{Repo: modeltest.Forge + "control", Branch: "main", Path: "here"}, "error control@main:registrations.yaml:9 missing-workload"},
		"no repository": {model.Reference{Repo: "/home/me/none", Branch: "main"}, "error control@main:registrations.yaml:7 missing-reference"},
	} {
		t.Run(name, func(t *testing.T) {
			env, err := model.LoadEnvironment(t.Context(), modeltest.Parse(pointers+application), "dev", dev,
				model.Substitute(func(_ context.Context, kind, _ string, ref model.Reference) (model.Reference, error) {
					if kind == "WorkloadRegistration" {
						return c.ref, nil
					}
					return ref, nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, lines(env.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSubstituteFails wants an error to leave no model behind.
func TestSubstituteFails(t *testing.T) {
	failure := errors.New("disk on fire")
	for _, kind := range []string{"BaseRepo", "WorkloadRegistration"} {
		env, err := model.LoadEnvironment(t.Context(), modeltest.Parse(pointers+application), "dev", dev,
			model.Substitute(func(_ context.Context, k, _ string, ref model.Reference) (model.Reference, error) {
				if k == kind {
					return ref, failure
				}
				return ref, nil
			}))
		if env != nil || !errors.Is(err, failure) {
			t.Errorf("%s: %v, %v", kind, env, err)
		}
	}
}
