package expression

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
)

func sample() Env {
	return Env{Contexts: map[string]any{
		"github": map[string]any{
			"ref_name": "main",
			"event": map[string]any{
				"commits": []any{
					map[string]any{"id": "a1", "files": []any{"x", "y"}},
					map[string]any{"id": "b2", "files": []any{"z"}},
				},
				"Mixed-Case": "found",
			},
		},
		"inputs": map[string]any{"dry": false, "count": 3.0, "empty": ""},
		"needs":  map[string]any{"build": map[string]any{"result": "success", "outputs": map[string]any{"tag": "v1"}}},
	}}
}

func TestEvaluate(t *testing.T) {
	for source, want := range map[string]any{
		// literals
		`null`: nil, `true`: true, `7`: 7.0, `-2.5`: -2.5, `0xff`: 255.0, `'it''s'`: "it's",
		// contexts
		`github.ref_name`:                     "main",
		`GitHub.REF_NAME`:                     "main",
		`github['ref_name']`:                  "main",
		`github.nothing`:                      nil,
		`github.nothing.below`:                nil,
		`github.event.mixed-case`:             "found",
		`github.event.commits[1].id`:          "b2",
		`github.event.commits[1.9].id`:        "b2",
		`github.event.commits[2].id`:          nil,
		`github.event.commits[-1]`:            nil,
		`github.event.commits.*.id`:           []any{"a1", "b2"},
		`github.event.commits.*.files.*`:      []any{"x", "y", "z"},
		`github.event.commits.*.none`:         []any{},
		`join(github.event.commits.*.id)`:     "a1,b2",
		`needs.*.result`:                      []any{"success"},
		`contains(needs.*.result, 'failure')`: false,
		`contains(needs.*.result, 'SUCCESS')`: true,
		`needs.build.outputs.tag`:             "v1",
		`github.ref_name.*`:                   nil,
		// logic
		`!true`: false, `!''`: true, `!'0'`: false,
		`'' || 'x'`: "x", `'a' && 'b'`: "b", `0 && 'b'`: 0.0, `null || false || 5`: 5.0,
		`inputs.dry || inputs.count`:              3.0,
		`github.nothing && github.nothing == 'a'`: nil,
		// comparison
		`'Main' == 'main'`: true, `'a' < 'B'`: true, `'a' != 'b'`: true,
		`1 == '1'`: true, `1 == ' 1 '`: true, `true == 1`: true, `true == 'true'`: false, `null == 0`: true, `null == ''`: true,
		`'' == 0`: true, `'x' == 0`: false, `'x' != 0`: true, `'x' < 0`: false, `'x' >= 0`: false,
		`'0x10' == 16`: true, `'0o17' == 15`: true, `'1e3' == 1000`: true, `'1_0' == 10`: false, `'inf' > 1`: false,
		`2 > 10`: false, `'2' > '10'`: true,
		`github.event == github.event`: true, `github.event != github.event`: false, `fromJSON('[]') == fromJSON('[1]')`: false,
		`github == 1`: false, `null == github`: false,
		`NaN == NaN`: false, `Infinity > 1`: true,
		// functions
		`contains('Hello', 'ELL')`: true, `contains(fromJSON('["a","b"]'), 'b')`: true, `contains(github, 'x')`: false, `contains('a1', 1)`: true,
		`startsWith('refs/heads/x', 'REFS/')`: true, `endsWith('x.yaml', '.yml')`: false, `ENDSWITH('x.yml', '.yml')`: true,
		`format('{0}-{1}-{0} {{x}}', 'a', 5)`: "a-5-a {x}", `format('{0}')  == ''`: errors.New("no value for {0}"),
		`join(fromJSON('[1,true,null]'), '; ')`: "1; true; ", `join('x')`: "x",
		`toJSON('a<b')`: `"a<b"`, `toJSON(fromJSON('{"b":1,"a":[]}'))`: "{\n  \"a\": [],\n  \"b\": 1\n}", `toJSON(github.none)`: "null",
		`fromJSON('{"a":{"b":[1,2]}}').a.b[1]`: 2.0, `fromJSON('3') > 2`: true,
		`always()`: true, `success()`: true, `failure()`: false, `cancelled()`: false,
		// mistakes
		``:                   errors.New("unexpected end"),
		`1 +`:                errors.New("'+'"),
		`(1`:                 errors.New("closing ')'"),
		`gihub.ref`:          errors.New(`no context "gihub"`),
		`contain('a', 'b')`:  errors.New(`no function "contain"`),
		`contains('a')`:      errors.New("does not take 1"),
		`format('{x}', 1)`:   errors.New("not the number"),
		`format('{', 1)`:     errors.New("stands alone"),
		`format('}', 1)`:     errors.New("stands alone"),
		`fromJSON('{')`:      errors.New("unexpected end of JSON"),
		`toJSON(Infinity)`:   errors.New("no form in JSON"),
		`hashFiles('*')`:     errors.New("no files"),
		`!nothing`:           errors.New("no context"),
		`nothing == 1`:       errors.New("no context"),
		`github[nothing]`:    errors.New("no context"),
		`contains(nix, 'a')`: errors.New("no context"),
		`'` + strings.Repeat("x", maxLength) + `'`: errors.New("at most 21000"),
	} {
		got, err := Evaluate(source, sample())
		if fails, ok := want.(error); ok {
			if err == nil || !strings.Contains(err.Error(), fails.Error()) {
				t.Errorf("%.60s: error %v, want one with %q", source, err, fails)
			}
			continue
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s = %#v, %v; want %#v", source, got, err, want)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, ""}, {true, "true"}, {1.0, "1"}, {0.1, "0.1"}, {100000.0, "100000"}, {1e15, "1E+15"}, {1.0 / 3, "0.333333333333333"},
		{math.Copysign(0, -1), "0"}, {math.Inf(-1), "-Infinity"}, {math.NaN(), "NaN"}, {[]any{}, "Array"}, {map[string]any{}, "Object"},
	} {
		if got := Text(c.v); got != c.want {
			t.Errorf("Text(%#v) = %q, want %q", c.v, got, c.want)
		}
	}
}

func TestInterpolate(t *testing.T) {
	for text, want := range map[string]string{
		"plain $x ${y} {{ z }}":                     "plain $x ${y} {{ z }}",
		"on ${{ github.ref_name }}!":                "on main!",
		"${{github.ref_name}}${{ inputs.count }}":   "main3",
		"${{ '}}' }} ${{ format('{{{0}}}', 'a') }}": "}} {a}",
		"a ${{ github.none }} b":                    "a  b",
	} {
		if got, err := Interpolate(text, sample()); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${{ github", "${{ }}", "${{ 'a }}", "${{ no.where }}", "x ${{ # }}"} {
		if got, err := Interpolate(text, sample()); err == nil {
			t.Errorf("%s is %q, want an error", text, got)
		}
	}
}

func TestValueKeepsItsKind(t *testing.T) {
	for text, want := range map[string]any{
		" ${{ inputs.dry }} ":          false,
		"${{ inputs.count }}":          3.0,
		"n=${{ inputs.count }}":        "n=3",
		"${{ 1 }}${{ 2 }}":             "12",
		"${{ fromJSON('[\"a\"]') }}":   []any{"a"},
		"text":                         "text",
		"${{ github.event.commits }}x": "Arrayx",
	} {
		if got, err := Value(text, sample()); !cmp.Equal(got, want) || err != nil {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestAsksFor(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "matrix.v": false, "${{ matrix.v }}": true, "a ${{ github.ref }} b ${{ toJSON(matrix) }}": true, "${{ Matrix['v'] }}": true,
		"${{ github.matrix }}": false, "${{ 'matrix' }}": false, "${{ matrix.": false, "${{ ( }} ${{ matrix.v }}": true,
	} {
		if got := AsksFor(text, "matrix"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCondition(t *testing.T) {
	var (
		good      = Status{}
		failed    = Status{Failed: true}
		cancelled = Status{Cancelled: true}
		skipped   = Status{Skipped: true}
	)
	for text, holds := range map[string][4]bool{ // after success, failure, cancel, something left out
		"":                                   {true, false, false, false},
		"true":                               {true, false, false, false},
		"${{ true }}":                        {true, false, false, false},
		"always()":                           {true, true, true, true},
		"failure()":                          {false, true, false, false},
		"${{ failure() }}":                   {false, true, false, false},
		"cancelled()":                        {false, false, true, false},
		"!cancelled()":                       {true, true, false, true},
		"success() || failure()":             {true, true, false, false},
		"github.ref_name == 'main'":          {true, false, false, false},
		"github.ref_name == 'x'":             {false, false, false, false},
		"always() && github.ref_name == 'x'": {false, false, false, false},
		"format('{0}', failure()) == 'true'": {false, true, false, false},
		"  ${{ inputs.count == 3 && success() }} ": {true, false, false, false},
	} {
		for i, s := range []Status{good, failed, cancelled, skipped} {
			env := sample()
			env.Status = s
			if got, err := Condition(text, env); got != holds[i] || err != nil {
				t.Errorf("%q with %+v: %v, %v", text, s, got, err)
			}
		}
	}
	for text, want := range map[string]string{
		"${{ github.ref_name }} == 'x'": "always true",
		"${{ true }} && ${{ false }}":   "always true",
		"github.ref_name = 'x'":         "'='",
		"${{ true":                      "unexpected EOF",
		"nowhere.x":                     "no context",
	} {
		if _, err := Condition(text, sample()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

func TestTextsFormAndParse(t *testing.T) {
	// what toJSON writes, fromJSON reads; a text survives its own literal
	check := func(s string) bool {
		quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
		got, err := Evaluate("fromJSON(toJSON("+quoted+"))", Env{})
		return err == nil && got == strings.ToValidUTF8(s, "\ufffd") || len(quoted) > maxLength-20
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{
		`github.event.commits.*.files.*`, `!(1 < '2') && a[b].c || format('{0}', 1)`, `fromJSON('[1e400]')`, `((((`, `'}}'`, `x.*.*[*]`, `contains(needs.*.result, null)`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		env := sample()
		v, err := Evaluate(source, env)
		if err == nil {
			switch v.(type) {
			case nil, bool, float64, string, []any, map[string]any:
			default:
				t.Errorf("%q is a %T", source, v)
			}
			again, _ := Evaluate(source, env)
			if Text(again) != Text(v) {
				t.Errorf("%q is %q, then %q", source, Text(v), Text(again))
			}
		}
		_, _ = Interpolate(source, env)
		_, _ = Condition(source, env)
	})
}
