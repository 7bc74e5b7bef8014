package plan

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
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

// toYAML writes a value as YAML without a newline at its end.
func toYAML(value any) (string, error) {
	text, err := configvalue.YAML(value)
	return strings.TrimSuffix(text, "\n"), err
}

// stringify writes the configuration as the YAML text of a ConfigMap's data.
//
// Of its values the original scheduler turns lists into texts, for a ConfigMap
// can hold nothing else, and leaves maps as they are.
func stringify(data map[string]any) (string, error) {
	out := make(map[string]any, len(data))
	for key, value := range data {
		if list, ok := value.([]any); ok {
			text, err := configvalue.YAML(list)
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

// The largest results of functions that make much out of little. Beyond them
// a template is broken, and would take the scheduler with it.
const (
	maxOutput = 1 << 20 // bytes of one rendered manifest
	maxIndent = 1000
	maxRange  = 10000
	maxUnique = 1000 // each is compared with all
)

var errTooMuch = fmt.Errorf("a result of more than %d bytes is too much", maxOutput)

// tooMuch fails when a function's result would be too large, which it says
// before there is one.
func tooMuch(bytes int) error {
	if bytes > maxOutput {
		return errTooMuch
	}
	return nil
}

func repeat(n int, s string) (string, error) {
	if n < 0 || len(s) > 0 && n > maxOutput/len(s) {
		return "", fmt.Errorf("repeating %d times is too much", n)
	}
	return strings.Repeat(s, n), nil
}

func indented(f func(int, string) string) func(int, string) (string, error) {
	return func(n int, s string) (string, error) {
		if n < 0 || n > maxIndent || n*(1+strings.Count(s, "\n")) > maxOutput {
			return "", fmt.Errorf("%d spaces is too much", n)
		}
		return f(n, s), nil
	}
}

func replace(old, with, s string) (string, error) {
	if err := tooMuch(len(s) + strings.Count(s, old)*(len(with)-len(old))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(s, old, with), nil
}

func joined(f func(string, any) string) func(string, any) (string, error) {
	return func(sep string, list any) (string, error) {
		n := 1
		if v := reflect.ValueOf(list); v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
			n = v.Len()
		}
		if err := tooMuch(n * len(sep)); err != nil {
			return "", err
		}
		return f(sep, list), nil
	}
}

func wrapped(f func(int, string, string) string) func(int, string, string) (string, error) {
	return func(width int, sep, s string) (string, error) {
		if err := tooMuch((1 + len(s)/max(width, 1)) * len(sep)); err != nil {
			return "", err
		}
		return f(width, sep, s), nil
	}
}

// split returns the parts as sprig does: by "_0", "_1" and so on.
func split(sep string, n int, s string) (map[string]string, error) {
	if strings.Count(s, sep) > maxRange && (n < 0 || n > maxRange) {
		return nil, fmt.Errorf("more than %d parts is too much", maxRange)
	}
	parts := map[string]string{}
	for i, part := range strings.SplitN(s, sep, n) {
		parts[fmt.Sprintf("_%d", i)] = part
	}
	return parts, nil
}

func unique(f func(any) ([]any, error)) func(any) ([]any, error) {
	return func(list any) ([]any, error) {
		if v := reflect.ValueOf(list); v.Kind() == reflect.Slice && v.Len() > maxUnique {
			return nil, fmt.Errorf("a list of more than %d is too much", maxUnique)
		}
		return f(list)
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

// printf is fmt.Sprintf without the verb for addresses, which differ each time.
func printf(format string, args ...any) (string, error) {
	verbs, width := 0, maxIndent
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		verbs++
		number := 0
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.*[]", format[i]) >= 0; i++ {
			switch c := format[i]; {
			case c == '*':
				width = maxOutput // what fmt takes at most is about that
			case c >= '0' && c <= '9':
				number = min(10*number+int(c-'0'), maxOutput)
				width = max(width, number)
			default:
				number = 0
			}
		}
		if i < len(format) && format[i] == 'p' {
			return "", errors.New("%p prints an address, which differs each time")
		}
	}
	largest := 0
	for _, arg := range args {
		largest = max(largest, sizeOfValue(reflect.ValueOf(arg), maxOutput))
	}
	// What a verb makes of its argument is rarely more than twice its size, and
	// what is nevertheless printed meets the next limit.
	if verbs > 1 && verbs*(largest+width) > 16*maxOutput {
		return "", errTooMuch
	}
	out := fmt.Sprintf(format, args...)
	if strings.Contains(out, missingArg) && !strings.Contains(format+fmt.Sprint(args...), missingArg) {
		return "", errors.New("a value that it prints is missing")
	}
	return out, nil
}

// missingArg ends what fmt prints for nothing, as in %!s(<nil>).
const missingArg = "(<nil>)"

// maxPattern bounds regular expressions, in instructions when compiled.
const maxPattern = 1000

// patternName is the function that a rewritten template calls for every regular
// expression.
const patternName = "regexp"

// pattern returns a regular expression that is short enough. Those of Go take
// time in proportion to their length and the text's, so both are bounded. What
// is no regular expression is left to who uses it.
func pattern(text string) (string, error) {
	tooLong := fmt.Errorf("the regular expression is too much, more than %d steps", maxPattern)
	if len(text) > maxPattern {
		return "", tooLong
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return text, nil
	}
	if program, err := syntax.Compile(parsed.Simplify()); err == nil && len(program.Inst) > maxPattern {
		return "", tooLong
	}
	return text, nil
}

// replaceAll refuses by the longest that can come out: every match replaced, and
// every expansion in the replacement as long as all matches together.
func replaceAll(f func(*regexp.Regexp, string, string) string) func(string, string, string) (string, error) {
	return func(pattern, s, with string) (string, error) {
		r, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		matches := len(r.FindAllStringIndex(s, -1))
		if err := tooMuch((len(s) + matches*len(with) + strings.Count(with, "$")*len(s)) / 16); err != nil {
			return "", err
		}
		return f(r, s, with), nil
	}
}
