package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

var noon = time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC) // a Wednesday

func amount(t testing.TB, text string) (a v1alpha1.Amount) {
	t.Helper()
	if text == "" {
		return a
	}
	if err := yaml.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// waves makes a spec of NAME, CLUSTERS and SOAK for each wave.
func waves(t testing.TB, maxFailures string, all ...[3]string) model.Rollout {
	t.Helper()
	r := model.Rollout{Metadata: v1alpha1.Metadata{Name: "large"}}
	r.Spec = v1alpha1.RolloutSpec{ClusterType: "large", MaxFailures: amount(t, maxFailures)}
	for _, w := range all {
		wave := v1alpha1.RolloutWave{Name: w[0], Clusters: amount(t, w[1])}
		if w[2] != "" {
			soak, err := time.ParseDuration(w[2])
			if err != nil {
				t.Fatal(err)
			}
			wave.Soak = v1alpha1.Duration(soak)
		}
		r.Spec.Waves = append(r.Spec.Waves, wave)
	}
	return r
}

// cluster follows a wave's branch and has a commit.
func cluster(name, wave, commit string, state fleet.State) rollout.Cluster {
	return rollout.Cluster{Name: name, Wave: wave, Configurations: []fleet.Configuration{{Cluster: name, Name: "dev", Commit: commit, State: state}}}
}

// input is about a rollout of commit B over A, which the first wave has.
func input(t testing.TB) rollout.Input {
	r := waves(t, "", [3]string{"canary", "1", "10m"}, [3]string{"tenth", "10%", ""}, [3]string{"all", "", ""})
	state := first(t, r, "A")
	in := rollout.Input{
		Environment: "dev", Rollout: r, State: state, Head: "B", Same: func(a, b string) bool { return a == b }, Now: noon, Clock: "here",
		Clusters: []rollout.Cluster{cluster("a", "canary", "A", fleet.Compliant), cluster("b", "tenth", "A", fleet.Compliant), cluster("c", "all", "A", fleet.Compliant)},
	}
	in.State = decided(t, in, "roll out commit B")
	in.State = decided(t, in, "wave canary gets commit B")
	return in
}

func first(t testing.TB, r model.Rollout, head string) *rollout.State {
	t.Helper()
	result := rollout.Next(rollout.Input{Environment: "dev", Rollout: r, Head: head})
	if result.State == nil || result.State.Target != head || result.State.Good != head || len(result.State.Waves) != len(r.Spec.Waves) {
		t.Fatalf("first state: %+v", result.State)
	}
	return result.State
}

// decided is the state that follows, as its file has it.
func decided(t testing.TB, in rollout.Input, subject string) *rollout.State {
	t.Helper()
	result := rollout.Next(in)
	if result.State == nil || !strings.HasPrefix(result.Subject, subject) {
		t.Fatalf("decided %q (%s: %s), want %q", result.Subject, result.Status.Phase, result.Status.Reason, subject)
	}
	return kept(t, result.State)
}

func kept(t testing.TB, s *rollout.State) *rollout.State {
	t.Helper()
	content, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := rollout.ParseState(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Fatalf("a state in its file (-want +got):\n%s", diff)
	}
	return again
}

func waits(t testing.TB, in rollout.Input, phase rollout.Phase) rollout.Result {
	t.Helper()
	result := rollout.Next(in)
	if result.State != nil || result.Status.Phase != phase {
		t.Fatalf("decided %q, phase %s (%s), want to wait as %s", result.Subject, result.Status.Phase, result.Status.Reason, phase)
	}
	return result
}

// TestWaves takes a commit through all waves.
func TestWaves(t *testing.T) {
	in := input(t)
	if r := waits(t, in, rollout.Progressing); r.Status.Wave != "canary" || r.Status.Waves[0].Size != 1 || r.Status.Waves[0].Arrived != 0 {
		t.Errorf("%+v", r.Status)
	}
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	in.State = decided(t, in, "wave canary is well")
	r := waits(t, in, rollout.Progressing)
	if want := noon.Add(10*time.Minute + time.Second); !r.Again.Equal(want) {
		t.Errorf("again at %s, want %s", r.Again, want)
	}
	in.Now = r.Again
	in.State = decided(t, in, "wave tenth gets commit B")
	in.Clusters[1] = cluster("b", "tenth", "B", fleet.Compliant)
	in.State = decided(t, in, "wave all gets commit B")
	in.Clusters[2] = cluster("c", "all", "B", fleet.Compliant)
	in.State = decided(t, in, "all waves have commit B")
	if waits(t, in, rollout.Complete); in.State.Good != "B" {
		t.Errorf("%+v", in.State)
	}
}

// TestHolds is about all that a rollout waits for in its first wave.
func TestHolds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rollout.Input)
		phase  rollout.Phase
	}{
		"the commit is not there":    {func(in *rollout.Input) { in.Clusters[0] = cluster("a", "canary", "A", fleet.Compliant) }, rollout.Progressing},
		"a cluster applies it":       {func(in *rollout.Input) { in.Clusters[0] = cluster("a", "canary", "B", fleet.Pending) }, rollout.Progressing},
		"a cluster cannot be asked":  {func(in *rollout.Input) { in.Clusters[0] = cluster("a", "canary", "B", fleet.Unknown) }, rollout.Progressing},
		"a cluster does not follow":  {func(in *rollout.Input) { in.Clusters[0] = cluster("a", "canary", "B", fleet.Suspended) }, rollout.Progressing},
		"a cluster has an alien one": {func(in *rollout.Input) { in.Clusters[0] = cluster("a", "canary", "", fleet.Compliant) }, rollout.Progressing},
		"nothing says how it is":     {func(in *rollout.Input) { in.Clusters[0].Configurations = nil }, rollout.Progressing},
		"the fleet cannot be asked":  {func(in *rollout.Input) { in.Unseen = "down" }, rollout.Progressing},
		"the wave holds no cluster":  {func(in *rollout.Input) { in.Clusters = in.Clusters[1:] }, rollout.Progressing},
		"a user has paused it":       {func(in *rollout.Input) { give(t, in, rollout.Pause) }, rollout.Paused},
		"a user has aborted it":      {func(in *rollout.Input) { give(t, in, rollout.Abort) }, rollout.Aborted},
		"paused, and there is more":  {func(in *rollout.Input) { give(t, in, rollout.Pause); in.Head = "C" }, rollout.Paused},
		"promoted, and it is not well": {func(in *rollout.Input) {
			give(t, in, rollout.Promote)
			in.Clusters[0] = cluster("a", "canary", "B", fleet.Pending)
		}, rollout.Progressing},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
			test.change(&in)
			if r := waits(t, in, test.phase); r.Status.Reason == "" || test.phase == rollout.Progressing && r.Status.Waves[0].Reason == "" {
				t.Errorf("no reason: %+v", r.Status)
			}
		})
	}
}

func give(t testing.TB, in *rollout.Input, c rollout.Command) {
	t.Helper()
	next, _, err := rollout.Give(c, in.Rollout, in.State, rollout.Order{By: "ann", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	in.State = kept(t, next)
}

// TestStops is about clusters that fail.
func TestStops(t *testing.T) {
	in := input(t)
	in.Grace = time.Minute
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	in.State = decided(t, in, "wave canary is well") // and is not any more
	in.Clusters[0] = cluster("a", "canary", "B", fleet.NonCompliant)
	if in.State = decided(t, in, "wave canary is not well any more"); in.State.Soak != nil {
		t.Errorf("it soaks on: %+v", in.State)
	}
	r := waits(t, in, rollout.Progressing)
	if !r.Failing || !r.Again.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", r)
	}
	in.Failing, in.Now = noon, noon.Add(time.Minute)
	in.State = decided(t, in, "stop")
	if s := in.State.Stopped; s == nil || s.Wave != "canary" || s.Failed != 1 || s.Of != 1 || len(s.Reasons) != 1 {
		t.Fatalf("%+v", s)
	}
	waits(t, in, rollout.Stopped)
	// that it is well again makes it no better: a user decides
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	waits(t, in, rollout.Stopped)
	resumed := in
	give(t, &resumed, rollout.Resume)
	decided(t, resumed, "wave canary is well")
	fixed := in
	fixed.Head = "C"
	fixed.State = decided(t, fixed, "roll out commit C")
	fixed.State = decided(t, fixed, "wave canary gets commit C")
	if w := fixed.State.Waves; w["tenth"] != "A" || w["all"] != "A" {
		t.Errorf("%v", w)
	}
	give(t, &in, rollout.Abort)
	if w := in.State.Waves; w["canary"] != "A" || w["tenth"] != "A" {
		t.Errorf("%v", w)
	}
	waits(t, in, rollout.Aborted)
	in.Head = "C"
	in.State = decided(t, in, "roll out commit C")
}

// TestSomeMayFail lets as many clusters fail, or be away, as may.
func TestSomeMayFail(t *testing.T) {
	for name, test := range map[string]struct {
		max            string
		failed, silent int // of ten
		decides, waits bool
	}{
		"none may":           {"", 1, 0, false, true},
		"none may be away":   {"", 0, 1, false, true},
		"share, rounded off": {"19%", 1, 0, true, false},
		"too large a share":  {"19%", 2, 0, false, true},
		"away counts, too":   {"2", 1, 1, true, false},
		"more are away":      {"2", 1, 2, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := waves(t, test.max, [3]string{"canary", "10", ""}, [3]string{"all", "", ""})
			in := rollout.Input{Environment: "dev", Rollout: r, State: first(t, r, "A"), Head: "B", Same: func(a, b string) bool { return false }, Now: noon, Grace: time.Minute}
			for i := range 10 {
				state := fleet.Compliant
				if i < test.failed {
					state = fleet.NonCompliant
				} else if i < test.failed+test.silent {
					state = fleet.Unknown
				}
				in.Clusters = append(in.Clusters, cluster(fmt.Sprint("c", i), "canary", "B", state))
			}
			in.State = decided(t, in, "roll out")
			in.State = decided(t, in, "wave canary gets")
			if test.waits {
				waits(t, in, rollout.Progressing)
			} else {
				decided(t, in, "wave all gets commit B")
			}
		})
	}
}

// TestClocks lets another machine, whose clock is minutes ahead, look at a soak.
func TestClocks(t *testing.T) {
	in := input(t)
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	in.State = decided(t, in, "wave canary is well")
	in.Clock, in.Now = "there", noon.Add(10*time.Minute+rollout.MaxSkew)
	waits(t, in, rollout.Progressing)
	in.Now = noon.Add(-time.Hour)
	waits(t, in, rollout.Progressing)
	in.Now = noon.Add(10*time.Minute + rollout.MaxSkew + time.Second)
	decided(t, in, "wave tenth gets")
}

// TestPromote skips the soak and the window, and waits for no cluster.
func TestPromote(t *testing.T) {
	in := input(t)
	in.Rollout.Spec.Windows = []v1alpha1.RolloutWindow{{From: "01:00", To: "02:00"}}
	in.State = decided(t, in, "the rollout has changed")
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	give(t, &in, rollout.Promote)
	in.State = decided(t, in, "wave tenth gets commit B")
	if in.State.Promoted != "" {
		t.Error("the next wave is promoted, too")
	}
	in.Clusters[1] = cluster("b", "tenth", "B", fleet.Compliant)
	if r := waits(t, in, rollout.Progressing); !r.Again.Equal(time.Date(2026, 6, 4, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("again at %s", r.Again)
	}
	empty := input(t)
	empty.Clusters = nil
	give(t, &empty, rollout.Promote)
	decided(t, empty, "wave tenth gets commit B")
}

// TestChangedRollout changes the text while the rollout runs.
func TestChangedRollout(t *testing.T) {
	in := input(t)
	in.Clusters[0] = cluster("a", "canary", "B", fleet.Compliant)
	in.State = decided(t, in, "wave canary is well")
	in.Rollout = waves(t, "", [3]string{"canary", "1", "0s"}, [3]string{"new", "1", ""}, [3]string{"all", "", ""})
	in.State = decided(t, in, "the rollout has changed: go on by the new text from wave canary, with new waves new")
	if w := in.State.Waves; w["canary"] != "B" || w["new"] != "A" || w["tenth"] != "A" {
		t.Errorf("%v", w)
	}
	in.State = decided(t, in, "wave new gets commit B")
	in.Clusters = append(in.Clusters, cluster("d", "new", "B", fleet.Compliant))
	in.State = decided(t, in, "wave all gets commit B")
	in.Clusters[2] = cluster("c", "all", "B", fleet.Compliant)
	in.State = decided(t, in, "all waves have commit B")
	if in.State.Waves["tenth"] != "B" {
		t.Errorf("clusters of a wave that is gone stay behind: %v", in.State.Waves)
	}
}

// TestNewCommit is about commits that come while the rollout runs, or change nothing.
func TestNewCommit(t *testing.T) {
	in := input(t)
	in.Head = "C"
	in.State = decided(t, in, "roll out commit C")
	if w := in.State.Waves; w["canary"] != "B" || w["tenth"] != "A" || in.State.Good != "A" {
		t.Errorf("%v", in.State)
	}
	back := input(t)
	back.Head, back.Same = "A2", func(a, b string) bool { return a == b || a+b == "AA2" || a+b == "A2A" }
	back.State = decided(t, back, "commit A2 is")
	for wave, commit := range back.State.Waves {
		if commit != "A2" || back.State.Good != "A2" {
			t.Errorf("wave %s has %s, good is %s", wave, commit, back.State.Good)
		}
	}
}

func TestGiveRefuses(t *testing.T) {
	in := input(t)
	complete := in
	complete.State = first(t, in.Rollout, "A")
	paused := in
	give(t, &paused, rollout.Pause)
	aborted := in
	give(t, &aborted, rollout.Abort)
	for _, test := range []struct {
		c     rollout.Command
		state *rollout.State
	}{
		{rollout.Abort, complete.State}, {rollout.Promote, complete.State}, {rollout.Resume, complete.State}, {rollout.Resume, in.State},
		{rollout.Pause, paused.State}, {rollout.Promote, paused.State}, {rollout.Abort, aborted.State}, {rollout.Promote, aborted.State}, {"go", in.State},
	} {
		if _, _, err := rollout.Give(test.c, in.Rollout, test.state, rollout.Order{}); err == nil {
			t.Errorf("%s is taken in %+v", test.c, test.state)
		}
	}
}

func TestWindows(t *testing.T) {
	in := input(t)
	in.State = first(t, in.Rollout, "A")
	in.State = decided(t, in, "roll out commit B")
	for name, test := range map[string]struct {
		window v1alpha1.RolloutWindow
		now    string
		again  string // "" where the wave begins
	}{
		"within":          {v1alpha1.RolloutWindow{From: "09:00", To: "12:01"}, "2026-06-03T12:00:00Z", ""},
		"at its end":      {v1alpha1.RolloutWindow{From: "09:00", To: "12:00"}, "2026-06-03T12:00:00Z", "2026-06-04T09:00:00Z"},
		"another day":     {v1alpha1.RolloutWindow{Days: []v1alpha1.Weekday{"Wed"}, From: "09:00", To: "10:00"}, "2026-06-03T12:00:00Z", "2026-06-10T09:00:00Z"},
		"over midnight":   {v1alpha1.RolloutWindow{Days: []v1alpha1.Weekday{"Tue"}, From: "22:00", To: "13:00"}, "2026-06-03T12:00:00Z", ""},
		"to midnight":     {v1alpha1.RolloutWindow{From: "22:00", To: "24:00"}, "2026-06-03T23:59:59Z", ""},
		"zone":            {v1alpha1.RolloutWindow{From: "14:00", To: "15:00", TimeZone: "Europe/Berlin"}, "2026-06-03T12:00:00Z", ""},
		"zone, other day": {v1alpha1.RolloutWindow{Days: []v1alpha1.Weekday{"Thu"}, From: "00:00", To: "09:00", TimeZone: "Asia/Tokyo"}, "2026-06-03T16:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := in
			in.Rollout.Spec.Windows = []v1alpha1.RolloutWindow{test.window}
			in.State = decided(t, in, "the rollout has changed")
			now, err := time.Parse(time.RFC3339, test.now)
			if err != nil {
				t.Fatal(err)
			}
			if in.Now = now; test.again == "" {
				decided(t, in, "wave canary gets")
				return
			}
			if r := waits(t, in, rollout.Progressing); r.Again.UTC().Format(time.RFC3339) != test.again {
				t.Errorf("again at %s, want %s", r.Again.UTC(), test.again)
			}
		})
	}
}

func TestSame(t *testing.T) {
	files := func(change ...string) *model.Tree {
		all := map[string][]byte{"env/large/a/x.yaml": []byte("1"), "env/small/a/x.yaml": []byte("1"), "env/common/c.yaml": []byte("1"), ".github/tracking/Promoted_Commit_Id": []byte("1")}
		for i := 0; i+1 < len(change); i += 2 {
			all[change[i]] = []byte(change[i+1])
		}
		return &model.Tree{Files: all}
	}
	for _, test := range []struct {
		tree *model.Tree
		want bool
	}{
		{files(), true}, {files("env/small/a/x.yaml", "2"), true}, {files(".github/tracking/Promoted_Commit_Id", "2"), true},
		{files("env/large/a/x.yaml", "2"), false}, {files("env/large/new", "2"), false}, {files("env/common/c.yaml", "2"), false}, {files("smaller", "2"), false},
	} {
		if got := rollout.Same(files(), test.tree, "./env", "large", []string{"large", "small"}); got != test.want {
			t.Errorf("%v: %t", test.tree.Files, got)
		}
	}
	unread := files()
	unread.Files["env/large/blob"] = nil
	if rollout.Same(unread, unread, "env", "large", nil) {
		t.Error("what was not read is taken to be the same")
	}
}

// TestAssign puts a thousand clusters into waves, and then one more.
func TestAssign(t *testing.T) {
	r := waves(t, "", [3]string{"canary", "1", ""}, [3]string{"north", "", ""}, [3]string{"tenth", "10%", ""}, [3]string{"all", "100%", ""})
	r.Spec.Waves[1].Selector = metav1.LabelSelector{MatchLabels: map[string]string{"region": "north"}}
	fleet := func(n int) (all []rollout.Cluster) {
		for i := range n {
			c := rollout.Cluster{Name: fmt.Sprintf("store-%04d", i), Labels: map[string]string{}}
			if i%20 == 0 {
				c.Labels["region"] = "north"
			}
			all = append(all, c)
		}
		return all
	}
	before := rollout.Assign(r.Spec, fleet(1000))
	count := map[string]int{}
	for _, wave := range before.Waves {
		count[wave]++
	}
	if diff := cmp.Diff(map[string]int{"canary": 1, "north": 50, "tenth": 100, "all": 849}, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := 0
	for name, wave := range rollout.Assign(r.Spec, fleet(1010)).Waves {
		if was, ok := before.Waves[name]; ok && was != wave {
			moved++
		}
	}
	if moved > 20 { // ten new ones, at two borders
		t.Errorf("ten more clusters move %d", moved)
	}
	if few := rollout.Assign(r.Spec, fleet(1)); few.Waves["store-0000"] != "north" || len(few.Empty) != 3 {
		t.Errorf("%+v", few)
	}
	r.Spec.Waves[2] = v1alpha1.RolloutWave{Name: "tenth", Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "region", Operator: metav1.LabelSelectorOpExists}}}}
	if twice := rollout.Assign(r.Spec, fleet(41)); len(twice.Overlaps) != 3 || len(twice.Empty) != 1 {
		t.Errorf("%+v", twice)
	}
}
