package plan

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestNoClock proves that no function tells the time or takes one: a point in
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
