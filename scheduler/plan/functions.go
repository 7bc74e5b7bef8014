package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/mitchellh/hashstructure"
)

// impure are the functions of sprig's hermetic map that depend on chance, on
// the clock or on the machine's time zone, or that are of no use without those.
var impure = []string{
	"ago", "toDate", "mustToDate", "mustDateModify", "must_date_modify", "unixEpoch",
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
		guardName:   guard,
		quotedName:  guardQuoted,
		strictIndex: index,
		strictGet:   get,

		"toYaml":    toYAML,
		"stringify": stringify,
		"hash":      hash,
		"unquote":   unquote,

		// sprig returns these two in random order.
		"keys":   keys,
		"values": values,

		"printf":    printf,
		"repeat":    repeat,
		"indent":    indented(m["indent"].(func(int, string) string)),
		"nindent":   indented(m["nindent"].(func(int, string) string)),
		"replace":   replace,
		"join":      joined(m["join"].(func(string, any) string)),
		"wrapWith":  wrapped(m["wrapWith"].(func(int, string, string) string)),
		"split":     func(sep, s string) (map[string]string, error) { return split(sep, -1, s) },
		"splitn":    split,
		"uniq":      unique(m["mustUniq"].(func(any) ([]any, error))),
		"mustUniq":  unique(m["mustUniq"].(func(any) ([]any, error))),
		"until":     func(n int) ([]int, error) { return steps(0, n, sign(n)) },
		"untilStep": steps,
		"seq":       sequence(m["seq"].(func(...int) string)),

		patternName:                  pattern,
		"regexReplaceAll":            replaceAll((*regexp.Regexp).ReplaceAllString),
		"mustRegexReplaceAll":        replaceAll((*regexp.Regexp).ReplaceAllString),
		"regexReplaceAllLiteral":     replaceAll((*regexp.Regexp).ReplaceAllLiteralString),
		"mustRegexReplaceAllLiteral": replaceAll((*regexp.Regexp).ReplaceAllLiteralString),
	})
	for _, name := range []string{"int", "int64", "add", "add1", "sub", "mul", "div", "mod", "max", "biggest", "min"} {
		m[name] = decimal(m[name])
	}
	return m
}()

// decimal makes an arithmetic function read texts in decimal and no other way,
// as the original scheduler's older sprig does: newer ones take 012 for ten.
func decimal(function any) any {
	number := func(v any) any {
		if s, ok := v.(string); ok {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
		return v
	}
	numbers := func(list []any) []any {
		all := make([]any, len(list))
		for i, v := range list {
			all[i] = number(v)
		}
		return all
	}
	switch f := function.(type) {
	case func(any) int:
		return func(a any) int { return f(number(a)) }
	case func(any) int64:
		return func(a any) int64 { return f(number(a)) }
	case func(any, any) int64:
		return func(a, b any) int64 { return f(number(a), number(b)) }
	case func(...any) int64:
		return func(list ...any) int64 { return f(numbers(list)...) }
	case func(any, ...any) int64:
		return func(a any, list ...any) int64 { return f(number(a), numbers(list)...) }
	}
	panic(fmt.Sprintf("plan: no arithmetic in %T", function))
}

// stringify writes the configuration as the YAML text of a ConfigMap's data.
//
// Of its values the original scheduler turns lists into texts, for a ConfigMap
// can hold nothing else, and leaves maps as they are.
func stringify(data map[string]any) (string, error) {
	out := make(map[string]any, len(data))
	for key, value := range data {
		if list, ok := value.([]any); ok {
			text, err := writeYAML(list, templateIndent)
			if err != nil {
				return "", err
			}
			value = text
		}
		out[key] = value
	}
	return toYAML(out)
}

// hash is a number in decimal for any value, equal for equal values. It is the
// original scheduler's, so that names made with it stay what they are.
func hash(value any) (string, error) {
	sum, err := hashstructure.Hash(value, nil)
	return strconv.FormatUint(sum, 10), err
}

// unquote takes the space around a text away, then all double quotes and then
// all single quotes around it. What is no text gives none.
func unquote(value any) string {
	s, _ := value.(string)
	return strings.Trim(strings.Trim(strings.TrimSpace(s), `"`), `'`)
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
