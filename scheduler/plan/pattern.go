package plan

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

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

// patternSize estimates how many instructions an expression has when compiled,
// without compiling it: nested repetitions of a few characters make very many.
// What lists many characters counts as several. Beyond the limit the size need
// not be exact.
func patternSize(re *syntax.Regexp, limit int) int {
	n := 1 + len(re.Rune)/4
	if re.Op == syntax.OpLiteral {
		n = 1 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += patternSize(sub, limit)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return min(n, limit+1)
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
