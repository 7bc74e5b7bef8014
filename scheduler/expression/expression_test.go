package expression

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	west = &Object{
		Name: "shop-test", Workload: "shop", Workspace: "team", Environment: "dev",
		Labels:         map[string]string{"region": "eu-west", "cores": "16", "app.kubernetes.io/part-of": "shop", "workload": "shop", "type": "web"},
		WorkloadLabels: map[string]string{"type": "web"},
	}
	bare = &Object{Name: "bare", Environment: "dev"}
)

func compiledT(t testing.TB, selector Selector, text string) *Expression {
	t.Helper()
	e, err := Compile(selector, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func TestEvaluate(t *testing.T) {
	for text, want := range map[string][2]bool{ // on west, on bare
		`labels["region"] == "eu-west"`:                                  {true, false},
		`labels.region.startsWith("eu-") && int(labels["cores"]) >= 8`:   {true, false},
		`target.labels["app.kubernetes.io/part-of"] == workload.name`:    {true, false},
		`workload.labels.type in ["web", "api"]`:                         {true, false},
		`workspace.name == "team" && environment.name != "prod"`:         {true, false},
		`target.name.matches("^(shop|stock)-")`:                          {true, false},
		`environment.name == "dev"`:                                      {true, true},
		`labels.exists(k, k.startsWith("app.kubernetes.io/"))`:           {true, false},
		`size(labels) == 0 || labels.region != "x"`:                      {true, true},
		`target.name.size() > 4 ? labels.region == "eu-west" : true`:     {true, true},
		`"region" in labels`:                                             {true, false},
		`!("region" in labels)`:                                          {false, true},
		`has(labels.region)`:                                             {true, false},
		`labels[?"tier"].orValue("none") == "none"`:                      {true, true},
		`labels.?region.orValue("") != ""`:                               {true, false},
		`target.name + "/" + environment.name == "bare/dev"`:             {false, true},
		`labels.map(k, k).filter(k, k.size() == 4)[0] == "type"`:         {true, false},
		`labels.map(k, k)[0] == "app.kubernetes.io/part-of"`:             {true, false},
		`labels.exists(k, labels[k] == target.name) || labels.size()==5`: {true, false},
		// A label that is missing fulfils nothing, not even what asks for another value.
		`labels["tier"] != "gold"`:                            {false, false},
		`!(labels["tier"] == "gold")`:                         {false, false},
		`!("tier" in labels) || labels["tier"] != "gold"`:     {true, true},
		`labels["tier"] == "gold" || environment.name=="dev"`: {true, true},
		// Neither does a number that is none.
		`int(labels["region"]) > 1`: {false, false},
	} {
		e := compiledT(t, OfTargets, text)
		for i, o := range []*Object{west, bare} {
			if got := e.Holds(o); got != want[i] {
				_, err := e.Evaluate(o)
				t.Errorf("%s on %s: %v, %v", text, o.Name, got, err)
			}
		}
	}
}

func TestEvaluateSaysWhy(t *testing.T) {
	for text, part := range map[string]string{
		`labels["tier"] == "gold"`:        "tier",
		`int(labels["region"]) > 1`:       "int",
		`10 / (size(target.name)-9) == 1`: "zero",
	} {
		if holds, err := compiledT(t, OfTargets, text).Evaluate(west); holds || err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, %v", text, holds, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	long := `labels.region == "` + strings.Repeat("x", MaxLength) + `"`
	for _, test := range []struct {
		selector Selector
		text, at string // at: what the error is about begins with this
		unknown  string
		costly   bool
	}{
		{OfTargets, `labels.region ==`, ``, "", false},
		{OfTargets, `labels.region == "a" &&
  (labels.tier = "b")`, `= "b")`, "", false},
		{OfTargets, `labels.region == "a" && regoin == "b"`, `regoin`, "regoin", false},
		{OfTargets, `target.label["a"] == "b"`, `target`, "target.label", false},
		{OfTargets, `clusterType.name == "large"`, `clusterType`, "clusterType.name", false},
		{OfClusterTypes, `target.name == "large"`, `target`, "target.name", false},
		{OfTargets, `now() == "a"`, `now()`, "", false},
		{OfTargets, `labels["edge"] == true`, `==`, "", false},
		{OfTargets, `labels.region`, `labels.region`, "", false},
		{OfTargets, `size(labels)`, `size`, "", false},
		{OfTargets, `"a" in {"a": 1}`, `{"a"`, "", false},
		{OfTargets, `labels.region.matches(labels.pattern)`, `labels.pattern`, "", false},
		{OfTargets, `labels.region.matches("a(")`, `"a("`, "", false},
		{OfTargets, `timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin") == 1`, `timestamp(`, "", false},
		{OfTargets, `dyn(labels).region == 1`, `dyn(`, "", false},
		{OfTargets, `labels.all(a, labels.all(b, labels.all(c, a + b != c)))`, ``, "", true},
		{OfTargets, long, ``, "", true},
		{OfTargets, strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), ``, "", false},
		{OfTargets, ` `, ``, "", false},
	} {
		_, err := Compile(test.selector, test.text)
		wrong, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%.80s: can be used", test.text)
			continue
		}
		if !strings.HasPrefix(test.text[wrong.Index:], test.at) || wrong.Unknown != test.unknown || wrong.Costly != test.costly || wrong.Message == "" {
			t.Errorf("%.80s: %+v at %q", test.text, wrong, test.text[wrong.Index:])
		}
		if wrong.Unknown != "" && !slices.Contains(wrong.Variables, "labels") {
			t.Errorf("%s: known are %v", test.text, wrong.Variables)
		}
	}
}

func TestOperands(t *testing.T) {
	text := `labels.region == "west" && (labels.tier in ["gold", 'silver'] || target.name != "x")
  && !has(workload.labels.old)
  && labels.exists(k, k == "a" && labels[k] != labels["b"])`
	type operand struct {
		At         string
		Text       string
		References string
		Wanted     Wanted
	}
	var got []operand
	for _, o := range compiledT(t, OfTargets, text).Operands() {
		e := compiledT(t, OfTargets, o.Text)
		at, _, _ := strings.Cut(text[o.Index:], " ")
		got = append(got, operand{at, o.Text, fmt.Sprint(e.References()), e.Wanted()})
	}
	want := []operand{
		{`labels.region`, `labels.region == "west"`, `[labels["region"]]`, Wanted{"region", []string{"west"}}},
		{`labels.tier`, `labels.tier in ["gold", "silver"] || target.name != "x"`, `[labels["tier"] target.name]`, Wanted{}},
		{`!has(workload.labels.old)` + "\n", `!has(workload.labels.old)`, `[workload.labels["old"]]`, Wanted{}},
		{`labels.exists(k,`, `labels.exists(k, k == "a" && labels[k] != labels["b"])`, `[labels["b"]]`, Wanted{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operands (-want +got):\n%s", diff)
	}
	if wanted := compiledT(t, OfTargets, `labels["region"] != "west"`).Wanted(); wanted.Key != "" {
		t.Errorf("another comparison wants %v", wanted)
	}
	wanted := compiledT(t, OfTargets, `"west" == labels["region"]`).Wanted()
	if diff := cmp.Diff(Wanted{"region", []string{"west"}}, wanted); diff != "" {
		t.Errorf("wanted (-want +got):\n%s", diff)
	}
}

// randomExpression writes an expression that most likely can be used.
func randomExpression(r *rand.Rand, depth int) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	key := one("region", "tier", "cores", "a.b/c")
	text := one(`labels["`+key+`"]`, `labels[?"`+key+`"].orValue("x")`, "target.name", "workload.name", `workload.labels["`+key+`"]`, `"eu"`, "environment.name")
	value := `"` + one("eu", "west", "8", "gold", "") + `"`
	if depth > 0 {
		sub := func() string { return randomExpression(r, depth-1) }
		switch r.IntN(7) {
		case 0, 1:
			return sub() + " && " + sub()
		case 2:
			return "(" + sub() + " || " + sub() + ")"
		case 3:
			return "!(" + sub() + ")"
		case 4:
			return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
		case 5:
			return "labels." + one("exists", "all", "exists_one") + "(k, " + one("k", "labels[k]", `labels["`+key+`"]`) + one(" == ", " != ", " < ") + value + ")"
		}
	}
	return one(
		text+" == "+value, text+" != "+value, text+" in ["+value+", \"east\"]", `"`+key+`" in labels`, "has(labels.region)",
		"int("+text+") > 4", text+".startsWith("+value+")", text+`.matches("^[a-z]+$")`, "size(labels) > 1", "10 / size("+text+") == 5",
		`labels.map(k, k)[0] < `+text)
}

func randomObject(r *rand.Rand) *Object {
	labels := func() map[string]string {
		m := map[string]string{}
		for _, key := range []string{"region", "tier", "cores", "a.b/c", "\xff", ""} {
			if r.IntN(2) == 0 {
				m[key] = []string{"eu", "west", "8", "gold", "", "\xff", "999999999999999999999"}[r.IntN(7)]
			}
		}
		return m
	}
	return &Object{Name: "t", Labels: labels(), Workload: "w", WorkloadLabels: labels(), Workspace: "s", Environment: "dev"}
}

// TestRandom evaluates random expressions: each twice with the same result, within the
// cost, and as its operands say.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	usable, held := 0, 0
	for range 800 {
		text := randomExpression(r, 3)
		e, err := Compile(OfTargets, text)
		if err != nil {
			continue
		}
		usable++
		for range 2 {
			if agree(t, e, randomObject(r)) {
				held++
			}
		}
		if t.Failed() {
			return
		}
	}
	if usable < 500 || held < 250 {
		t.Errorf("%d of 800 expressions can be used, %d times they hold: the test says little", usable, held)
	}
}

func agree(t *testing.T, e *Expression, o *Object) bool {
	t.Helper()
	holds, err := e.Evaluate(o)
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Errorf("%s on %v: %v", e.Text(), o, err)
	}
	fresh, compileErr := compile(e.selector, e.text)
	if compileErr != nil {
		t.Fatalf("%s: %v the second time", e.Text(), compileErr)
	}
	again, errAgain := fresh.Evaluate(o)
	if holds != again || (err == nil) != (errAgain == nil) {
		t.Errorf("%s on %v: %v, %v, and then %v, %v", e.Text(), o, holds, err, again, errAgain)
	}
	_, details, _ := e.program.Eval(activation{o})
	if cost := details.ActualCost(); cost != nil && *cost > MaxCost+MaxLength {
		t.Errorf("%s on %v costs %d", e.Text(), o, *cost)
	}
	all := true
	for _, operand := range e.Operands() {
		part, err := Compile(e.selector, operand.Text)
		if err != nil {
			t.Fatalf("%s, a part of %s: %v", operand.Text, e.Text(), err)
		}
		all = all && part.Holds(o)
	}
	if all != holds {
		t.Errorf("%s on %v: %v, and its operands together %v", e.Text(), o, holds, all)
	}
	return holds
}

// TestCostIsBounded evaluates what is cheap for labels as they may be, and not for
// those of a cluster type that has very many.
func TestCostIsBounded(t *testing.T) {
	e := compiledT(t, OfClusterTypes, `labels.all(k, labels[k].contains("x"))`)
	huge := &Object{Labels: map[string]string{}}
	for i := range 100_000 {
		huge.Labels[fmt.Sprint(i)] = "x"
	}
	if holds, err := e.Evaluate(huge); holds || err == nil || !strings.Contains(err.Error(), "costs") {
		t.Errorf("%v, %v", holds, err)
	}
}

func FuzzEvaluate(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(randomExpression(r, 2), "region", "eu", "tier", "gold")
	}
	f.Add(`labels.map(k, labels.map(v, v + k))[0][0] == "a" && labels.a.matches("(a*)*$")`, "a", "b", "c", "d")
	f.Fuzz(func(t *testing.T, text, key1, value1, key2, value2 string) {
		o := &Object{Name: value1, Labels: map[string]string{key1: value1, key2: value2}, WorkloadLabels: map[string]string{key2: value1}, Workload: key1, Environment: "dev"}
		for _, selector := range []Selector{OfTargets, OfClusterTypes} {
			e, err := Compile(selector, text)
			if err != nil {
				if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Index < 0 || wrong.Index > len(text) {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			agree(t, e, o)
			for _, r := range e.References() {
				r.Value(o)
			}
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	for name, text := range map[string]string{
		"equals":  `labels["region"] == "eu-west"`,
		"typical": `labels["region"].startsWith("eu-") && int(labels["cores"]) >= 8 && workload.name != "legacy"`,
		"missing": `labels["tier"] == "gold"`,
		"exists":  `labels.exists(k, k.startsWith("app.kubernetes.io/"))`,
	} {
		b.Run(name, func(b *testing.B) {
			e := compiledT(b, OfTargets, text)
			b.ReportAllocs()
			for b.Loop() {
				e.Holds(west)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compile(OfTargets, `labels["region"].startsWith("eu-") && int(labels["cores"]) >= 8 && workload.name != "legacy"`); err != nil {
			b.Fatal(err)
		}
	}
}
