package model_test

import (
	"errors"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// TestSourcesThatAreLeftOut has one registration of two lead to what cannot be read. The
// other's workload is there, and the model is incomplete, so that nothing is removed.
func TestSourcesThatAreLeftOut(t *testing.T) {
	down := errors.New("status 500")
	tolerant := model.Tolerant(func(err error) (string, string) { return "because of " + err.Error(), "wait" })
	register := func(repo string) *modeltest.Repositories {
		repos := modeltest.Parse(pointers + application + second)
		repos.Write("control", "main", "third.yaml", []byte(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: third}
spec: {workload: {repo: "`+repo+`", branch: main, path: .}, workspace: team}
`))
		repos.Errors["third@main"] = down
		return repos
	}
	for _, test := range []struct {
		repo, code string
		options    []model.Option
		fails      bool
		unreadable int
	}{
		{"https://forge.test/kalypso/third", "", nil, true, 0},
		{"https://forge.test/kalypso/third", model.UnreadableSource, []model.Option{tolerant}, false, 1},
		{"https://refused.test/x", model.RefusedHost, nil, false, 0},
		{"https://refused.test/x", model.RefusedHost, []model.Option{tolerant}, false, 0},
		{"https://refused.test/" + model.Placeholder + "/x", model.MissingReference, nil, false, 0},
	} {
		env, err := model.LoadEnvironment(t.Context(), register(test.repo), "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}, test.options...)
		if (err != nil) != test.fails || err != nil && !errors.Is(err, down) {
			t.Errorf("%s: %v", test.repo, err)
		}
		if err != nil {
			continue
		}
		found := ""
		for _, d := range env.Diagnostics {
			if d.Position.File == "third.yaml" && d.Hint != "" {
				found = d.Code
			}
		}
		if found != test.code || len(env.Workloads) != 2 || !env.Incomplete || len(env.Unreadable) != test.unreadable {
			t.Errorf("%s: %q of %+v, workloads %d, unreadable %v", test.repo, found, env.Diagnostics, len(env.Workloads), env.Unreadable)
		}
	}
}
