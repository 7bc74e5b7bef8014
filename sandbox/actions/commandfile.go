package actions

import (
	"fmt"
	"strings"
)

// pair is one setting of a command file.
type pair struct{ name, value string }

// parsePairs reads what a step has written to GITHUB_OUTPUT or GITHUB_ENV:
// lines of name=value, or for values of several lines
//
//	name<<END
//	...
//	END
func parsePairs(content string) ([]pair, error) {
	var pairs []pair
	rest := strings.ReplaceAll(content, "\r\n", "\n")
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		equals, here := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case equals >= 0 && (here < 0 || equals < here):
			pairs = append(pairs, pair{line[:equals], line[equals+1:]})
		case here >= 0:
			name, end := line[:here], line[here+2:]
			value, after, ok := untilLine(rest, end)
			if end == "" || !ok {
				return nil, fmt.Errorf("the value of %s has no last line %q", name, end)
			}
			pairs, rest = append(pairs, pair{name, value}), after
		default:
			return nil, fmt.Errorf("the line %q is neither name=value nor name<<END", line)
		}
		if last := pairs[len(pairs)-1].name; strings.TrimSpace(last) == "" {
			return nil, fmt.Errorf("the line %q has no name", line)
		}
	}
	return pairs, nil
}

// untilLine cuts a text before the line that is end.
func untilLine(text, end string) (before, after string, found bool) {
	var lines []string
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line == end {
			return strings.Join(lines, "\n"), text, true
		}
		lines = append(lines, line)
	}
	return "", "", false
}

// parsePaths reads GITHUB_PATH: a folder per line, the last one first in PATH.
func parsePaths(content string) []string {
	var paths []string
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" {
			paths = append([]string{line}, paths...)
		}
	}
	return paths
}

// maskCommand returns the value that a line of output makes secret.
func maskCommand(line string) (string, bool) {
	value, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "::add-mask::")
	// the escapes of workflow commands
	return strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(value), ok && value != ""
}
