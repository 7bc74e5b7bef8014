//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lookAround asks the running sandbox what a user would after the first
// scenario, and what a change would do that nobody has committed. None of it
// changes anything.
func lookAround(t *testing.T, m *machine) {
	heads, pulls := m.heads(), m.pulls("kalypso-platform-gitops")
	planNothing(t, m)
	a := onlyAssignment(t, m)
	out := m.run("explain", a.Target, "-e", a.Environment)
	if !strings.HasPrefix(out.stdout, a.Target+" is assigned to 1 of ") || !strings.Contains(out.stdout, "  "+a.ClusterType+"  by "+a.Policies[0]+"\n") {
		t.Errorf("explain names no policy %s:\n%s", a.Policies[0], out.stdout)
	}
	validateAll(t, m)
	planChange(t, m, a)
	if diff := cmp.Diff(heads, m.heads()); diff != "" {
		t.Errorf("commits have changed:\n%s", diff)
	}
	if diff := cmp.Diff(pulls, m.pulls("kalypso-platform-gitops")); diff != "" {
		t.Errorf("pull requests have changed:\n%s", diff)
	}
}

// planNothing plans what the scenario has brought to the GitOps branch.
func planNothing(t *testing.T, m *machine) {
	var p struct {
		Environments []struct {
			Environment       string
			Changes, Problems []struct{ Path, Message string }
			Assignments       []struct{ Files []string }
		}
	}
	out, err := m.try("plan", "-e", "dev", "-o", "json", "--exit-code")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	m.decode(out.stdout, &p)
	if len(p.Environments) != 1 || p.Environments[0].Environment != "dev" {
		t.Fatalf("plan: %s", out.stdout)
	}
	dev := p.Environments[0]
	if len(dev.Changes)+len(dev.Problems) > 0 || len(dev.Assignments) != 1 || len(dev.Assignments[0].Files) == 0 {
		t.Errorf("plan: %+v", dev)
	}
	if out.stderr != "" {
		t.Errorf("plan says %q", out.stderr)
	}
}

type assignment struct {
	Environment, ClusterType, Target string
	Policies                         []string
}

// onlyAssignment is what the scenario has scheduled.
func onlyAssignment(t *testing.T, m *machine) assignment {
	var all []assignment
	out := m.run("get", "assignments", "-e", "dev", "-o", "json")
	m.decode(out.stdout, &all)
	if len(all) != 1 || all[0].Environment != "dev" || all[0].Target != "basic-inference-dev" || len(all[0].Policies) != 1 {
		t.Fatalf("assignments: %s", out.stdout)
	}
	return all[0]
}

func validateAll(t *testing.T, m *machine) {
	var r struct {
		Environments []string
		Summary      map[string]int
		Findings     []struct{ Rule, Severity, Message string }
	}
	out, err := m.try("validate", "-o", "json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out.all())
	}
	m.decode(out.stdout, &r)
	want := slices.Sorted(slices.Values(m.environments()))
	if diff := cmp.Diff(want, r.Environments); diff != "" || r.Summary["errors"] > 0 {
		t.Errorf("validate: %s", out.stdout)
	}
	for _, f := range r.Findings {
		t.Logf("%s: %s [%s]", f.Severity, f.Message, f.Rule)
	}
}

// planChange changes a value in a clone of the control plane, and nothing else.
func planChange(t *testing.T, m *machine, a assignment) {
	dir := filepath.Join(m.dir, "control-plane")
	m.git(m.dir, "clone", "--quiet", "--branch", "dev", m.credentials().OrgURL+"/kalypso-control-plane", dir)
	plan := []string{"plan", "-e", "dev", "-o", "diff", "--exit-code", "--control-plane", dir}
	if out, err := m.try(plan...); err != nil || !strings.HasSuffix(out.stdout, "\nNo changes.\n") || out.stderr != "" {
		t.Errorf("plan of an unchanged clone: %v\n%s", err, out.all())
	}
	file := filepath.Join(dir, "configs", "dev-config.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(before, "  ASKED_FOR: a change\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := m.try(plan...)
	if err == nil || out.code != 3 || out.stderr != "" {
		t.Errorf("plan of a change: exit code %d: %v\n%s", out.code, err, out.all())
	}
	folder := a.ClusterType + "/" + a.Target
	for _, says := range []string{
		"# " + folder + ": assigned by policy " + a.Policies[0] + "\n",
		"\ndiff --git a/" + folder + "/platform-config.yaml b/" + folder + "/platform-config.yaml\n",
		"\n+  ASKED_FOR: a change\n",
		"\n1 file to change in 1 assignment.\n",
	} {
		if strings.Count(out.stdout, says) != 1 {
			t.Errorf("plan does not say once %q:\n%s", says, out.stdout)
		}
	}
	if out := m.run("explain", a.Target, a.ClusterType, "-e", "dev", "--control-plane", dir); !strings.Contains(out.stdout, "  ASKED_FOR = a change\n      from  dev-config  configs/dev-config.yaml:") {
		t.Errorf("explain does not know of the change:\n%s", out.stdout)
	}
	if status := m.git(dir, "status", "--porcelain"); status != "M configs/dev-config.yaml" {
		t.Errorf("the clone has changed: %q", status)
	}
}
