package source_test

import (
	"path/filepath"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/source"
)

const changedHello = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: changed}
`

// TestWorkloads is about folders and URLs in place of a workload's repository.
// Two registrations share it, and only the named one is replaced.
func TestWorkloads(t *testing.T) {
	root := platformRepositories(t)
	write(t, root, `
-- copy/hello/w.yaml --
`+changedHello+`
-- copy/bye/w.yaml --
nothing
-- just/w.yaml --
`+changedHello+`
-- broken/w.yaml --
`+changedHello+`
  - {
-- moved/deploy/hello/w.yaml --
`+changedHello+`
-- both/w.yaml --
`+changedHello+`
-- both/hello/w.yaml --
`+changedHello+`
-- empty/README.md --
`)
	git(t, root, "clone", "-q", "apps", "app")
	app := filepath.Join(root, "app")
	git(t, app, "checkout", "-q", "-b", "feature")
	write(t, app, "-- hello/workload.yaml --\n"+changedHello)

	const noWorkload = `error there is no Workload at "./hello" in `
	for name, c := range map[string]struct {
		location string
		want     string
	}{
		"the repository":                   {"copy", "workload changed at copy@main:hello/w.yaml:1"},
		"the folder in it":                 {"copy/hello", "workload changed at hello@main:w.yaml:1"},
		"the folder alone":                 {"just", "workload changed at just@main:w.yaml:1"},
		"a clone, whatever is checked out": {"app", "workload changed at app@feature:hello/workload.yaml:1"},
		"a folder of a clone":              {"app/hello", "workload changed at hello@feature:workload.yaml:1"},
		"another of a clone":               {"app/bye", "error Workload bye"},
		"one that has moved":               {"moved", noWorkload + "moved@main"},
		"the repository, with one more":    {"both", "workload changed at both@main:hello/w.yaml:1"},
		"nothing of that kind":             {"empty", noWorkload + "empty@main"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, source.Options{ControlPlane: filepath.Join(root, "cp"), Workloads: map[string]string{"hello": filepath.Join(root, c.location)}})
			env := s.load("dev")
			if name == "another of a clone" {
				// Then two registrations read workloads of one name.
				if len(env.Diagnostics) != 1 {
					t.Errorf("diagnostics %v", env.Diagnostics)
				}
				return
			}
			has(t, env, "cluster type small", "template committed", bye, c.want)
		})
	}
	t.Run("a file that is not valid", func(t *testing.T) {
		env := open(t, source.Options{ControlPlane: filepath.Join(root, "cp"), Workloads: map[string]string{"hello": filepath.Join(root, "broken")}}).load("dev")
		if len(env.Diagnostics) != 1 || env.Diagnostics[0].Position.String() != "broken@main:w.yaml:5" {
			t.Errorf("diagnostics %v", env.Diagnostics)
		}
	})
	t.Run("a URL", func(t *testing.T) {
		git(t, app, "checkout", "-q", "-f", "main")
		write(t, app, "-- hello/workload.yaml --\n"+changedHello)
		commit(t, app)
		git(t, app, "checkout", "-q", "--detach", "HEAD~1")
		env := open(t, source.Options{ControlPlane: filepath.Join(root, "cp"), Workloads: map[string]string{"hello": "file://" + app}}).load("dev")
		has(t, env, "cluster type small", "template committed", bye, "workload changed at app@main:hello/workload.yaml:1")
	})
	t.Run("a URL without the branch", func(t *testing.T) {
		env := open(t, source.Options{ControlPlane: filepath.Join(root, "cp"), Workloads: map[string]string{"hello": "file://" + filepath.Join(root, "gitops")}}).load("dev")
		has(t, env, "cluster type small", "template committed", bye, "error repository file://"+root+"/gitops or its branch main is not there")
	})
}

func TestUnknownRegistrations(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	given := func(names ...string) source.Options {
		o := source.Options{ControlPlane: cp, Workloads: map[string]string{}}
		for _, name := range names {
			o.Workloads[name] = filepath.Join(root, "apps")
		}
		return o
	}
	_, err := open(t, given("helo")).Load(t.Context(), "dev")
	mustFail(t, err, "there is no workload registration helo: choose one of hello, bye")
	mustHint(t, err, "did you mean hello?")
	_, err = open(t, given("hello", "something-else")).Load(t.Context(), "dev")
	mustFail(t, err, "there is no workload registration something-else: choose one of bye, hello")

	t.Log("one that another environment has is worth a warning")
	first := git(t, cp, "rev-parse", "main")
	write(t, cp, "-- third.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: third}\n"+
		"spec: {workspace: w, workload: {repo: 'file://"+root+"/none', branch: main, path: hello}}\n")
	commit(t, cp)
	git(t, cp, "checkout", "-q", "qa")
	write(t, cp, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\n"+
		"spec: {repo: 'file://"+root+"/cp', branch: main, path: ., commit: '"+first+"'}\n")
	commit(t, cp)
	write(t, root, "-- third/hello/w.yaml --\n"+changedHello)
	o := source.Options{ControlPlane: cp, Workloads: map[string]string{"third": filepath.Join(root, "third")}}
	const changed = "workload changed at third@main:hello/w.yaml:1"
	has(t, open(t, o).load("dev"), "cluster type small", "template committed", bye, changed, hello)
	has(t, open(t, o).load("qa"), "template committed", bye, hello,
		"warning no workload is registered as third in environment qa, so what was given for it has no effect")

	t.Log("where those of another environment could not all be read, it may be one of them")
	write(t, cp, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: 'file://"+root+"/none', branch: main, path: .}\n")
	has(t, open(t, given("helo")).load("dev"), "cluster type small", "template committed", bye, hello,
		"warning no workload is registered as helo in environment dev, so what was given for it has no effect",
		"error repository file://"+root+"/none or its branch main is not there")
	git(t, cp, "checkout", "-q", "--", ".")

	t.Log("where registrations could not all be read, nothing is known")
	git(t, cp, "checkout", "-q", "dev")
	write(t, cp, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: 'file://"+root+"/none', branch: main, path: .}\n")
	has(t, open(t, given("helo")).load("dev"), "cluster type small",
		"warning no workload is registered as helo in environment dev, so what was given for it has no effect",
		"error repository file://"+root+"/none or its branch main is not there")

	t.Log("and a control plane without registrations has none to choose from")
	write(t, root, "-- empty/x --\n")
	_, err = open(t, source.Options{ControlPlane: cp, Base: filepath.Join(root, "empty"), Workloads: o.Workloads}).Load(t.Context(), "dev")
	mustFail(t, err, "there is no workload registration third, nor any other")
}
