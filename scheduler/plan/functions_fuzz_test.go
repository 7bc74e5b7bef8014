package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

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
