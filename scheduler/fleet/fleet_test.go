package fleet

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	wanted = "1111111111111111111111111111111111111111"
	before = "2222222222222222222222222222222222222222"
)

func TestJudge(t *testing.T) {
	at := func(name, commit string, state State) Configuration {
		return Configuration{Cluster: "drone", Name: name, Commit: commit, State: state}
	}
	for name, c := range map[string]struct {
		all  []Configuration
		want Verdict
	}{
		"nothing follows": {nil, Verdict{Decision: Arrived}},
		"all there": {
			[]Configuration{at("a", wanted, Compliant), at("b", wanted, Compliant)},
			Verdict{Decision: Arrived, Reached: 2, All: 2},
		},
		"healthy on the commit before": {
			[]Configuration{at("a", wanted, Compliant), at("b", before, Compliant)},
			Verdict{Decision: Waiting, Reached: 1, All: 2, Reasons: []string{"drone/b is Compliant and is on 22222222"}},
		},
		"failed on the commit before": {
			[]Configuration{at("a", before, NonCompliant)},
			Verdict{Decision: Waiting, All: 1, Reasons: []string{"drone/a is Non-Compliant and is on 22222222"}},
		},
		"failed on the commit": {
			[]Configuration{at("a", wanted, NonCompliant), at("b", before, Pending), at("c", wanted, Compliant)},
			Verdict{Decision: Failed, Reached: 1, All: 3, Reasons: []string{
				"drone/a is Non-Compliant and has the commit", "drone/b is Pending and is on 22222222",
			}},
		},
		"still failed when a waiting one comes after": {
			[]Configuration{at("a", wanted, NonCompliant), at("b", "", Unknown)},
			Verdict{Decision: Failed, All: 2, Reasons: []string{
				"drone/a is Non-Compliant and has the commit", "drone/b is Unknown and has fetched nothing yet",
			}},
		},
		"suspended with the commit": {
			[]Configuration{at("a", wanted, Suspended)},
			Verdict{Decision: Waiting, All: 1, Reasons: []string{"drone/a is Suspended and has the commit"}},
		},
		"nothing fetched": {
			[]Configuration{at("a", "", Pending)},
			Verdict{Decision: Waiting, All: 1, Reasons: []string{"drone/a is Pending and has fetched nothing yet"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Judge(c.all, wanted)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if v := Judge([]Configuration{{Commit: "", State: Compliant}}, ""); v.Decision != Waiting {
		t.Errorf("no commit at all: %+v", v)
	}
}

func TestCommitOf(t *testing.T) {
	for revision, want := range map[string]string{
		"":                         "",
		"dev/" + wanted:            wanted,
		"dev@sha1:" + wanted:       wanted,
		"feature/a@sha1:" + wanted: wanted,
		"sha1:" + wanted:           wanted,
		wanted:                     wanted,
	} {
		if got := CommitOf(revision); got != want {
			t.Errorf("%q: %q", revision, got)
		}
	}
}

func TestSameRepository(t *testing.T) {
	const url = "https://github.com/kalypso/gitops"
	for other, want := range map[string]bool{
		url: true, url + "/": true, url + ".git": true, "HTTPS://GitHub.com/kalypso/gitops": true,
		"https://github.com/kalypso/gitops2": false, "https://github.com/kalypso/Gitops": false, "http://github.com/kalypso/gitops": false, "": false,
	} {
		if got := SameRepository(url, other); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
}

type observed struct {
	all []Configuration
	err error
}

func (o observed) Observe(context.Context, Source) ([]Configuration, error) { return o.all, o.err }

func TestObserversFailWithOne(t *testing.T) {
	down := errors.New("down")
	one, two := Configuration{Name: "one"}, Configuration{Name: "two"}
	all, err := Observers{observed{all: []Configuration{one}}, observed{all: []Configuration{two}}}.Observe(t.Context(), Source{})
	if diff := cmp.Diff([]Configuration{one, two}, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := (Observers{observed{all: []Configuration{one}}, observed{err: down}}).Observe(t.Context(), Source{}); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}
