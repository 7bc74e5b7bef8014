package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

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
		g := gauge{limit: maxOutput}
		g.add(reflect.ValueOf(arg))
		largest = max(largest, g.size)
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
