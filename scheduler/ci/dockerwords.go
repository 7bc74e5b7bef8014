package ci

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// under is an absolute path in the image: a relative one begins at the working
// directory.
func under(working, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", working, name)
}

// execForm reads the JSON form of ENTRYPOINT and CMD, or else makes it of the
// shell form as Docker does: the image must have a shell then.
func execForm(word, rest string) ([]string, error) {
	if !strings.HasPrefix(rest, "[") {
		return []string{"/bin/sh", "-c", rest}, nil
	}
	var args []string
	if err := json.Unmarshal([]byte(rest), &args); err != nil || len(args) == 0 {
		return nil, fmt.Errorf(`%s %s is no list of texts, as in ["/app", "--flag"]`, word, rest)
	}
	return args, nil
}

// pairs reads NAME=VALUE ..., where a value can be in double quotes, and the
// older NAME VALUE.
func pairs(rest string, add func(name, value string)) error {
	first, _, _ := strings.Cut(rest, " ")
	if !strings.Contains(first, "=") {
		name, value, ok := strings.Cut(rest, " ")
		if !ok {
			return fmt.Errorf("%q has no value", rest)
		}
		add(name, strings.TrimSpace(value))
		return nil
	}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("%q is not of the form NAME=VALUE", rest)
		}
		var value string
		if quoted, isQuoted := strings.CutPrefix(after, `"`); isQuoted {
			if value, after, ok = strings.Cut(quoted, `"`); !ok {
				return fmt.Errorf("the quote in %q does not end", rest)
			}
		} else {
			value, after, _ = strings.Cut(after, " ")
		}
		add(name, value)
		rest = strings.TrimSpace(after)
	}
	return nil
}
