package expression

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"
)

// Truthy tells whether a value counts as true: all but false, 0, NaN, the
// empty text and null.
func Truthy(v any) bool {
	switch v := plain(v).(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

// Text is a value as it stands in a text around it.
func Text(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case float64:
		switch {
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		case v == 0:
			return "0" // also for the negative one
		}
		return strconv.FormatFloat(v, 'G', 15, 64)
	case string:
		return v
	case []any:
		return "Array"
	}
	return "Object"
}

var (
	decimal    = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)
	otherBases = regexp.MustCompile(`^0(x[0-9a-fA-F]+|o[0-7]+)$`)
)

// number is a value as a number, NaN when it is none.
func number(v any) float64 {
	switch v := plain(v).(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	case string:
		s := strings.TrimSpace(v)
		switch {
		case s == "":
			return 0
		case s == "Infinity":
			return math.Inf(1)
		case s == "-Infinity":
			return math.Inf(-1)
		case decimal.MatchString(s):
			f, _ := strconv.ParseFloat(s, 64) // too large is infinite
			return f
		case otherBases.MatchString(s):
			if n, err := strconv.ParseInt(s, 0, 64); err == nil {
				return float64(n)
			}
		}
	}
	return math.NaN()
}

// compare compares values of one kind as they are and all others as numbers.
// Texts are compared without regard to case.
func compare(kind actionlint.CompareOpNodeKind, left, right any) bool {
	left, right = plain(left), plain(right)
	a, isText := left.(string)
	b, areTexts := right.(string)
	if isText && areTexts {
		// upper case decides the order, as GitHub's does
		return ordered(kind, strings.Compare(strings.ToUpper(a), strings.ToUpper(b)))
	}
	if composite(left) || composite(right) {
		same := same(left, right)
		switch kind {
		case actionlint.CompareOpNodeKindEq, actionlint.CompareOpNodeKindLessEq, actionlint.CompareOpNodeKindGreaterEq:
			return same
		case actionlint.CompareOpNodeKindNotEq:
			return !same
		}
		return false
	}
	x, y := number(left), number(right)
	if math.IsNaN(x) || math.IsNaN(y) {
		return kind == actionlint.CompareOpNodeKindNotEq
	}
	switch {
	case x < y:
		return ordered(kind, -1)
	case x > y:
		return ordered(kind, 1)
	}
	return ordered(kind, 0)
}

func ordered(kind actionlint.CompareOpNodeKind, order int) bool {
	switch kind {
	case actionlint.CompareOpNodeKindEq:
		return order == 0
	case actionlint.CompareOpNodeKindNotEq:
		return order != 0
	case actionlint.CompareOpNodeKindLess:
		return order < 0
	case actionlint.CompareOpNodeKindLessEq:
		return order <= 0
	case actionlint.CompareOpNodeKindGreater:
		return order > 0
	case actionlint.CompareOpNodeKindGreaterEq:
		return order >= 0
	}
	return false
}

func composite(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// same tells whether both are one and the same list or object: equal content
// is not enough.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Kind() != y.Kind() || x.Len() != y.Len() {
		return false
	}
	return x.Pointer() == y.Pointer()
}
