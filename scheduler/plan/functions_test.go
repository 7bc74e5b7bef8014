package plan

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// rendered renders a text as a manifest's.
func rendered(text string, d renderData) (string, error) {
	return newRenderer().render(text, d)
}

// TestFunctions pins what templates may call. A function that a newer sprig
// brings is looked at before templates get it.
func TestFunctions(t *testing.T) {
	got := strings.Join(slices.Sorted(maps.Keys(functions)), "\n") + "\n"
	want, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("functions (-want +got); is each of them hermetic, and its result bounded?\n%s", diff)
	}
}

// TestNoClock proves that no function reads the clock or takes one: a point in
// time is made from the clock or read in the machine's zone.
func TestNoClock(t *testing.T) {
	clock := reflect.TypeFor[time.Time]()
	for name, function := range functions {
		f := reflect.TypeOf(function)
		for i := range f.NumIn() {
			if f.In(i) == clock {
				t.Errorf("%s takes a time", name)
			}
		}
		for i := range f.NumOut() {
			if f.Out(i) == clock {
				t.Errorf("%s returns a time", name)
			}
		}
	}
}

// TestNotHermetic names what must never come back, whatever sprig's own list
// says.
func TestNotHermetic(t *testing.T) {
	for _, name := range strings.Fields(`
		env expandenv getHostByName
		now ago date date_in_zone dateInZone date_modify dateModify htmlDate htmlDateInZone toDate mustToDate unixEpoch
		randAlphaNum randAlpha randAscii randNumeric randBytes randInt shuffle uuidv4 bcrypt htpasswd encryptAES
		genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey
		readFile glob lookup exec`) {
		if functions[name] != nil {
			t.Errorf("templates can call %s", name)
		}
	}
}

// TestSameEachTime renders what could depend on the order of a map or on where
// something lies in memory.
func TestSameEachTime(t *testing.T) {
	d := data(t, "{M: '{j: 1, i: 2, h: 3, g: 4, f: 5, e: 6, d: 7, c: 8, b: 9, a: 10}', a: 1, b: 2, c: 3, d: 4, e: 5}")
	for _, text := range []string{
		"{{ keys .ConfigData }}", "{{ values .ConfigData }}", "{{ .ConfigData.M }}", "{{ toJson .Labels }}", "{{ toYaml .ConfigData.M }}",
		"{{ range $k, $v := .ConfigData.M }}{{ $k }}{{ $v }} {{ end }}",
		`{{ pick .ConfigData "a" "b" "c" "d" }}`, `{{ omit .ConfigData "a" }}`, `{{ merge (dict "x" 1) .ConfigData }}`, `{{ pluck "a" .ConfigData .ConfigData }}`,
		`{{ urlParse "http://a/b?d=1&c=2" }}`, `{{ split "," "a,b,c" }}`, `{{ dict "a" 1 "b" 2 | toJson }}`, `{{ hash .ConfigData.M }}`,
		`{{ semver "1.2.3" }} {{ list (semver "1.2.3") }} {{ printf "%v" (semver "1.2.3") }}`, "{{ . }}",
	} {
		first := ""
		for i := range 20 {
			got, err := rendered(text, d)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if i == 0 {
				first = got
			}
			if got != first {
				t.Errorf("%s is %q, then %q", text, first, got)
				break
			}
		}
	}
}

// operands are what the calls of a random program begin with.
var operands = []string{
	`""`, `"a"`, `"a,b\nc"`, `"%s%v%5d"`, `"(a|b)*"`, `"{{ .Workload }}"`, "0", "1", "-1", "7", "9999", "9223372036854775807", "1.5", "true", "nil",
	".", ".Workload", ".Labels", ".Manifests", ".ConfigData", ".ConfigData.K", ".ConfigData.none", "(list 1 2)", `(dict "a" 1)`, "(until 50)", `(repeat 500 "xy")`,
}

// programOf makes a template of bytes: calls of functions, each kept in a
// variable that the later ones can use, once or in a loop, so that what is made
// can grow. A call that fails is left out.
func programOf(code []byte, d renderData) string {
	names := slices.Sorted(maps.Keys(functions))
	next := func() int {
		if len(code) == 0 {
			return 0
		}
		n := int(code[0])
		code = code[1:]
		return n
	}
	text, made := "", 0
	for len(code) > 0 && made < 20 {
		call := names[next()%len(names)]
		for range next() % 5 {
			if n := next(); made > 0 && n%2 == 0 {
				call += fmt.Sprintf(" $v%d", n/2%made)
			} else {
				call += " " + operands[n/2%len(operands)]
			}
		}
		line := fmt.Sprintf("{{ $v%d := %s }}", made, call)
		kind := next()
		switch {
		case made > 0 && kind%4 == 1:
			line = fmt.Sprintf("{{ $v%d = %s }}", kind/4%made, call)
		case made > 0 && kind%4 == 2:
			line = fmt.Sprintf("{{ range until 60 }}{{ $v%d = %s }}{{ end }}", kind/4%made, call)
		}
		if _, err := rendered(text+line, d); err != nil {
			continue
		}
		text += line
		if kind%4 == 0 || kind%4 == 3 || made == 0 {
			made++
		}
	}
	for i := range made {
		text += fmt.Sprintf("\n{{ if $v%d }}{{ print $v%d }}{{ toYaml $v%d }}{{ end }}", i, i, i)
	}
	return text
}

// FuzzFunctions calls functions with each other's results. Whatever comes out
// comes out again, and no program takes the process with it.
func FuzzFunctions(f *testing.F) {
	for i := range 8 {
		code := make([]byte, 60)
		for j := range code {
			code[j] = byte(i*37 + j*j*11)
		}
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		d := data(t, `{K: "[{name: a}, 007]", L: text}`)
		text := programOf(code, d)
		first, err := rendered(text, d)
		second, again := rendered(text, d)
		if first != second || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Errorf("%s\nis %q, %v,\nthen %q, %v", text, first, err, second, again)
		}
		if err != nil && first != "" {
			t.Errorf("%s\nfails with a result: %q, %v", text, first, err)
		}
	})
}

// TestBoundsAllow holds the functions that have bounds to what sprig's make.
func TestBoundsAllow(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{{ repeat 3 "ab" }}|{{ repeat 0 "ab" }}|{{ repeat 5 "" }}`, "ababab||"},
		{`{{ "a\nb" | indent 2 }}|{{ "a" | nindent 1 }}`, "  a\n  b|\n a"},
		{`{{ replace "a" "bb" "banana" }}|{{ "x" | replace "" "-" }}|{{ replace "banana" "" "banana" }}`, "bbbnbbnbb|-x-|"},
		{`{{ join "-" (list 1 "b" true) }}|{{ join "-" "alone" }}|{{ join "-" list }}`, "1-b-true|alone|"},
		{`{{ wrapWith 4 "|" "aaaa bbbb cc" }}|{{ wrap 4 "aaaa bb" }}`, "aaaa|bbbb|cc|aaaa\nbb"},
		{`{{ $p := split "," "a,b,c" }}{{ $p._0 }}{{ $p._2 }}|{{ $p = splitn "," 2 "a,b,c" }}{{ $p._1 }}|{{ len (splitn "," 0 "a") }}`, "ac|b,c|0"},
		{`{{ uniq (list 1 2 1 3 2) }}|{{ mustUniq (list "a" "a") }}`, "[1 2 3]|[a]"},
		{`{{ printf "%5.2f|%-4s|%04d|%q|%%|%[2]s|%v" 1.5 "a" 3 "x" }}`, " 1.50|a   |0003|\"x\"|%|a|3"},
		{`{{ printf "%d %s" }}`, "%!d(MISSING) %!s(MISSING)"},
		{`{{ printf "no verbs" }}|{{ printf "%*d" 4 7 }}`, "no verbs|   7"},
		{`{{ until 3 }}|{{ until -2 }}|{{ untilStep 3 9 3 }}|{{ seq 3 }}|{{ seq 0 2 4 }}`, "[0 1 2]|[0 -1]|[3 6]|1 2 3|0 2 4"},
		{`{{ regexMatch "^a+$" "aaa" }}|{{ "a-b" | regexReplaceAll "(a)-(b)" "x" }}|{{ regexReplaceAll "(a)(b)" "ab" "${2}${1}" }}|{{ regexReplaceAllLiteral "a" "aa" "$1" }}`, "true|x|ba|$1$1"},
		{`{{ regexFind "[0-9]+" "a12b" }}|{{ regexFindAll "[0-9]" "1a2" -1 }}|{{ regexSplit "," "a,b" -1 }}|{{ regexQuoteMeta "a.b" }}`, "12|[1 2]|[a b]|a\\.b"},
		{`{{ derivePassword 1 "long" "password" "user" "example.com" }}`, "ZedaFaxcZaso9*"},
		{`{{ max 1 2 3 4 5 6 7 8 9 10 }}|{{ list 1 2 3 4 5 6 7 8 9 .Workload }}`, "10|[1 2 3 4 5 6 7 8 9 shop]"},
		{`{{ range $i, $v := list "a" "b" }}{{ $i }}{{ $v }}{{ end }}{{ range 3 }}{{ . }}{{ end }}`, "0a1b012"},
		{`{{ with list }}x{{ else }}none{{ end }}{{ if dict "a" 1 | empty }}x{{ else }}full{{ end }}`, "nonefull"},
	}
	for _, test := range tests {
		got, err := rendered(test.text, data(t, "{}"))
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

// TestBoundsRefuse holds what no template may do to the scheduler: little text
// that would take all memory, or hours.
func TestBoundsRefuse(t *testing.T) {
	const tooLong, tooMuch, tooManySteps = "longer than", "too much", "more than 20000 steps"
	tests := []struct{ name, text, want string }{
		{"a text that doubles", `{{ $s := "xxxxxxxx" }}{{ range until 40 }}{{ $s = print $s $s }}{{ end }}`, tooLong},
		{"a text that doubles, by printf", `{{ $s := "xxxxxxxx" }}{{ range until 40 }}{{ $s = printf "%s%[1]s" $s }}{{ end }}`, tooLong},
		{"a list that doubles", `{{ $l := list 1 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}`, tooLong},
		{"a map of itself twice", `{{ $d := dict }}{{ range until 40 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ toYaml $d }}`, tooLong},
		{"a map in itself", `{{ $d := dict }}{{ $_ := set $d "x" $d }}{{ toYaml $d }}`, tooLong},
		{"a map in itself, printed", `{{ $d := dict }}{{ $_ := set $d "x" (list $d) }}{{ print $d }}`, tooLong},
		{"the data in itself", `{{ $_ := set .ConfigData "x" .ConfigData }}{{ toYaml .ConfigData }}`, tooLong},
		{"a map merged into itself", `{{ $a := dict "x" dict }}{{ $_ := mergeOverwrite $a (dict "x" $a) }}{{ toJson $a }}`, tooLong},
		{"a deep map", `{{ $d := dict }}{{ range until 10000 }}{{ $d = dict "a" $d }}{{ end }}`, tooManySteps},
		{"texts that are kept", `{{ $l := list }}{{ range until 10000 }}{{ $l = append $l (repeat 5000 "x") }}{{ end }}`, tooManySteps},
		{"texts that are not kept", `{{ range until 10000 }}{{ $_ := repeat 100000 "x" }}{{ end }}`, tooManySteps},
		{"replace", `{{ replace "x" (repeat 1000 "y") (repeat 100000 "x") }}`, tooMuch},
		{"replace nothing", `{{ replace "" (repeat 1000 "y") (repeat 100000 "x") }}`, tooMuch},
		{"regexReplaceAll", `{{ regexReplaceAll "" (repeat 40000 "x") (repeat 30000 "y") }}`, tooMuch},
		{"mustRegexReplaceAllLiteral", `{{ mustRegexReplaceAllLiteral "." (repeat 40000 "x") (repeat 30000 "y") }}`, tooMuch},
		{"expansions", `{{ regexReplaceAll ".*" (repeat 40000 "x") (repeat 15000 "$0") }}`, tooMuch},
		{"join", `{{ join (repeat 1000 "x") (until 10000) }}`, tooMuch},
		{"wrapWith", `{{ wrapWith 1 (repeat 1000 "x") (repeat 100000 "x") }}`, tooMuch},
		{"split", `{{ split "" (repeat 100000 "x") }}`, tooMuch},
		{"splitn", `{{ splitn "" 50000 (repeat 100000 "x") }}`, tooMuch},
		{"uniq", `{{ uniq (until 2000) }}`, tooMuch},
		{"printf of widths", `{{ printf (repeat 1000 "%999999d") 1 }}`, tooMuch},
		{"printf of a width that is given", `{{ printf (repeat 1000 "%*d") 999999 1 }}`, tooMuch},
		{"printf of one argument many times", `{{ printf (repeat 1000 "%[1]s") (repeat 100000 "x") }}`, tooMuch},
		{"many arguments", `{{ $s := repeat 1000000 "x" }}{{ print ` + strings.Repeat("$s ", 200) + `}}`, tooManySteps},
		{"a long expression", `{{ regexMatch (repeat 2000 "a") "a" }}`, tooMuch},
		{"an expression of large repeats", `{{ regexMatch "(.{500}){2}x" "a" }}`, tooMuch},
		{"expressions on long texts", `{{ range until 10000 }}{{ $_ := regexMatch "a.{90}x" (repeat 10000 "a") }}{{ end }}`, tooManySteps},
		{"passwords", `{{ range until 10000 }}{{ $_ := derivePassword 1 "long" "a" "b" "c" }}{{ end }}`, tooManySteps},
		{"indentation", `{{ indent 1000 (repeat 2000 "\n") }}`, tooMuch},
		{"a step back", `{{ kalypsoStep -1 "" }}`, tooManySteps},
		{"a step that overflows", `{{ kalypsoStep 9223372036854775807 "" }}`, tooManySteps},
		{"an address", `{{ printf "%p" .Labels }}`, "an address"},
		{"an address with flags", `{{ printf "a %d %-+8.3p" 1 .Labels }}`, "an address"},
		{"chunks of nothing", `{{ chunk 0 (list 1 2) }}`, "chunk"},
		{"division by nothing", `{{ div 1 0 }}`, "divide by zero"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := rendered(test.text, data(t, "{}"))
			var failed *renderError
			if !errors.As(err, &failed) || !strings.Contains(failed.message, test.want) {
				t.Fatalf("result of %d bytes, error %v, want %s", len(out), err, test.want)
			}
			if failed.line != 1 || strings.Contains(failed.message, "kalypso") {
				t.Errorf("line %d: %s", failed.line, failed.message)
			}
		})
	}
}

// TestBudgetIsPerRendering proves that one rendering leaves the next one
// nothing less.
func TestBudgetIsPerRendering(t *testing.T) {
	text := `{{ range until 9000 }}{{ end }}{{ range until 9000 }}{{ end }}done`
	template := templateOf("t", v1alpha1.ConfigTemplate, text, text)
	template.Spec.ContentType = v1alpha1.ShellContent
	r := newRenderer()
	for range 3 {
		if got, problems := r.file(template, data(t, "{}"), asTheyAre); got != "done\ndone\n" {
			t.Fatalf("%q, %v", got, reasons(problems))
		}
	}
}
