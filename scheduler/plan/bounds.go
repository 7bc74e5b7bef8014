package plan

import (
	"fmt"
	"reflect"
	"strings"
)

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
