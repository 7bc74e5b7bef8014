package ansible

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	first  = "1111111111111111111111111111111111111111"
	second = "2222222222222222222222222222222222222222"
	shop   = "3333333333333333333333333333333333333333"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestReadRun: lines are those that the callback wrote with ansible-core 2.14.
func TestReadRun(t *testing.T) {
	const lines = `{"status": "ok", "name": "service : user", "position": "/co/roles/service/tasks/main.yml:1", "message": ""}
{"status": "changed", "name": "fetch", "position": "/co/edge/shop/reconciler.yaml:6", "message": "", "checkout": {"repo": "http://forge/acme/shop", "branch": "dev", "commit": "` + shop + `"}}
{"status": "skipped", "name": "b", "position": "", "message": ""}
{"status": "failed", "name": "command", "position": "/co/edge/shop/reconciler.yaml:9", "message": " non-zero return code\n"}
`
	want := Run{
		OK: 1, Skipped: 1, Checkout: &Checkout{"http://forge/acme/shop", "dev", shop},
		Changed: []Task{{Name: "fetch", Position: "edge/shop/reconciler.yaml:6"}},
		Failed:  []Task{{Name: "command", Position: "edge/shop/reconciler.yaml:9", Message: "non-zero return code"}},
	}
	got, err := ReadRun(strings.NewReader(lines+`{"status": "end"}`), "/co")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := ReadRun(strings.NewReader(lines), "/co"); !errors.Is(err, ErrCutOff) || len(got.Failed) != 1 {
		t.Errorf("a run without an end: %+v, %v", got, err)
	}
	if _, err := ReadRun(strings.NewReader("{"), "/co"); err == nil || errors.Is(err, ErrCutOff) {
		t.Errorf("half a line: %v", err)
	}
}

// TestExplain: texts are those that ansible-core 2.14 prints.
func TestExplain(t *testing.T) {
	for printed, want := range map[string]string{
		`Starting Ansible Pull
ERROR! We were unable to read either as JSON nor YAML, these are the errors we got from each:
JSON: Expecting value: line 1 column 1 (char 0)

Syntax Error while loading YAML.
  did not find expected key

The error appears to be in '/co/edge/shop/reconciler.yaml': line 4, column 4, but may
be elsewhere in the file depending on the exact syntax problem.
`: "edge/shop/reconciler.yaml:4:4: did not find expected key",
		`ERROR! couldn't resolve module/action 'nosuchmodule'. This often indicates a misspelling.

The error appears to be in '/co/bad.yaml': line 3, column 5, but may
`: "bad.yaml:3:5: couldn't resolve module/action 'nosuchmodule'. This often indicates a misspelling.",
		"ERROR! the playbook: x could not be found\n": "the playbook: x could not be found",
		"sh: ansible-pull: not found\n":               "sh: ansible-pull: not found",
		"":                                            "",
	} {
		if got := Explain(printed, "/co"); got != want {
			t.Errorf("%q\n got %q\nwant %q", printed, got, want)
		}
	}
}

func TestIsPlaybook(t *testing.T) {
	for text, want := range map[string]bool{
		"- name: a\n  hosts: all\n  roles: [b]\n": true,
		"- {name: a, hosts: [web, all]}\n":        true,
		"- import_playbook: b.yaml\n":             false,
		"hosts: all\n":                            false,
		"[]\n":                                    false,
		"- all\n":                                 false,
	} {
		documents, err := yamlpos.Documents(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := IsPlaybook(documents[0]); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// state is that of the configuration which follows the branch, and its commit.
func state(t *testing.T, r Report, repo string) (fleet.State, string, string) {
	t.Helper()
	c := r.Cluster()
	all := c.Configurations(fleet.Source{Repo: repo, Branch: "dev"})
	if len(all) != 1 {
		t.Fatalf("%d configurations follow %s: %+v", len(all), repo, c)
	}
	return all[0].State, all[0].Commit, all[0].Reason
}

// TestReport goes through what becomes known of a host, as the gate sees it.
func TestReport(t *testing.T) {
	s := &Subscription{Name: "platform", Repo: "http://forge/acme/gitops", Branch: "dev", Path: "edge", Interval: time.Minute}
	r := Report{Host: "edge-1", LastSeen: now, Subscriptions: []*Subscription{s}}
	expect := func(step string, want fleet.State, commit string) {
		t.Helper()
		if got, at, reason := state(t, r, s.Repo); got != want || at != commit || (reason == "") != (want == fleet.Compliant) {
			t.Errorf("%s: %s at %q for %q; it is %s at %q", step, got, at, reason, want, commit)
		}
	}
	expect("before anything", fleet.Pending, "")
	s.Commit = first
	one, two := s.Assignment("shop"), s.Assignment("till")
	expect("fetched", fleet.Pending, first)
	one.Ran(Run{OK: 1, Checkout: &Checkout{"http://forge/acme/shop", "dev", shop}}, "", first, now)
	s.Settle(now)
	expect("one of two", fleet.Pending, first)
	two.Ran(Run{OK: 1, Changed: []Task{{Name: "a"}}}, "", first, now)
	s.Settle(now)
	expect("both", fleet.Compliant, first)
	if got, commit, _ := state(t, r, "http://forge/acme/shop"); got != fleet.Compliant || commit != shop {
		t.Errorf("what the playbooks have fetched: %s at %s", got, commit)
	}
	if ok, changed, failed := s.Tasks(); ok != 2 || changed != 1 || failed != 0 {
		t.Errorf("tasks: %d, %d, %d", ok, changed, failed)
	}

	two.Drifted(Run{Changed: []Task{{Name: "config", Position: "roles/x.yml:3", Message: "secret"}, {}}}, now)
	if !strings.Contains(two.Edited, "roles/x.yml:3") || !strings.Contains(two.Edited, "1 more") || strings.Contains(two.Edited, "secret") || !two.EditedAt.Equal(now) {
		t.Errorf("edited: %q", two.Edited)
	}
	expect("changed by hand and put back", fleet.Compliant, first)

	s.Commit = second
	expect("the next is fetched", fleet.Pending, second)
	one.Ran(Run{Failed: []Task{{Name: "start", Position: "edge/shop/reconciler.yaml:9", Message: "no"}}}, "", second, now)
	two.Ran(Run{OK: 1}, "", second, now)
	s.Settle(now)
	expect("one fails", fleet.NonCompliant, second)
	if one.Applied != first || s.Applied != first || two.Applied != second {
		t.Errorf("applied: %s, %s, %s", one.Applied, two.Applied, s.Applied)
	}
	one.Ran(Run{OK: 1}, "", second, now)
	two.Leaving = true
	s.Settle(now)
	expect("one is to go", fleet.Pending, second)
	s.Assignments = s.Assignments[:1]
	s.Settle(now)
	expect("it is gone", fleet.Compliant, second)
	s.Problem = "no route"
	expect("the branch cannot be fetched", fleet.NonCompliant, second)
	r.Unreachable = "the host does not run"
	if got, _, _ := state(t, r, s.Repo); got != fleet.Unknown {
		t.Errorf("a host that does not run: %s", got)
	}
}
