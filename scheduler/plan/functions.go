package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// The largest results of functions that make much out of little. Beyond them
// a template is broken, and would take the scheduler with it.
const (
	maxOutput = 1 << 20 // bytes of one rendered manifest
	maxIndent = 1000
	maxRange  = 10000
)

// impure are the functions of sprig's hermetic map that depend on chance, on
// the clock or on the machine's time zone.
var impure = []string{
	"ago", "toDate", "mustToDate",
	"shuffle", "randInt", "bcrypt", "htpasswd", "encryptAES",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey",
}

// functions are what templates may call: sprig's hermetic functions, without
// those that give a different result each time, and ours.
var functions = func() template.FuncMap {
	m := sprig.HermeticTxtFuncMap()
	for _, name := range impure {
		delete(m, name)
	}
	maps.Copy(m, template.FuncMap{
		guardName: guard,

		"toYaml":    toYAML,
		"stringify": stringify,
		"hash":      hash,
		"unquote":   unquote,

		// sprig returns these two in random order.
		"keys":   keys,
		"values": values,

		"repeat": func(n int, s string) (string, error) {
			if n < 0 || len(s) > 0 && n > maxOutput/len(s) {
				return "", fmt.Errorf("repeating %d times is too much", n)
			}
			return strings.Repeat(s, n), nil
		},
		"indent":    bounded(m["indent"].(func(int, string) string), maxIndent),
		"nindent":   bounded(m["nindent"].(func(int, string) string), maxIndent),
		"until":     func(n int) ([]int, error) { return steps(0, n, sign(n)) },
		"untilStep": steps,
		"seq":       sequence(m["seq"].(func(...int) string)),
	})
	return m
}()

// stringify turns the maps and lists among a map's values into YAML strings,
// because a ConfigMap can hold strings only.
func stringify(data any) (any, error) {
	m, ok := data.(map[string]any)
	if !ok {
		return data, nil
	}
	out := make(map[string]any, len(m))
	for key, value := range m {
		switch value.(type) {
		case map[string]any, []any:
			text, err := toYAML(value)
			if err != nil {
				return nil, err
			}
			out[key] = text
		default:
			out[key] = value
		}
	}
	return out, nil
}

// hash is a short name for a text: ten characters that may stand in any
// Kubernetes name.
func hash(text any) string {
	sum := sha256.Sum256([]byte(valueText(text)))
	return hex.EncodeToString(sum[:5])
}

// unquote takes away the quotes around a text.
func unquote(text any) string {
	s := valueText(text)
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}

func keys(dicts ...map[string]any) []string {
	var all []string
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

func values(dict map[string]any) []any {
	var all []any
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}

func bounded(f func(int, string) string, limit int) func(int, string) (string, error) {
	return func(n int, s string) (string, error) {
		if n < 0 || n > limit || n*(1+strings.Count(s, "\n")) > maxOutput {
			return "", fmt.Errorf("%d spaces is too much", n)
		}
		return f(n, s), nil
	}
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// steps counts from start towards stop, which it does not reach.
func steps(start, stop, step int) ([]int, error) {
	list := []int{}
	if step == 0 || stop > start && step < 0 || stop < start && step > 0 {
		return list, nil
	}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxRange {
			return nil, fmt.Errorf("more than %d steps is too much", maxRange)
		}
		list = append(list, i)
	}
	return list, nil
}

func sequence(f func(...int) string) func(...int) (string, error) {
	return func(params ...int) (string, error) {
		for _, n := range params {
			if n > maxRange || n < -maxRange {
				return "", fmt.Errorf("a sequence to %d is too much", n)
			}
		}
		return f(params...), nil
	}
}
