package scenarios

import (
	"regexp"
	"strings"
)

// phaseTime is what testscript adds to the last comment before a word.
var phaseTime = regexp.MustCompile(` \(\d+\.\d{3}s\)$`)

// failLine begins the last entry of a failed script's log.
var failLine = regexp.MustCompile(`^FAIL: [^ ]+:\d+: `)

// transcript is the log of a script, divided into its steps.
type transcript struct {
	steps  []string
	reason string // of the failure
}

// readTranscript divides a log. The script's comments are left out, and so is
// everything before the first step: the environment.
func readTranscript(log string, steps []StepInfo, comments map[string]bool) transcript {
	var t transcript
	var lines []string
	end := func() {
		if n := len(t.steps); n > 0 {
			t.steps[n-1] = strings.TrimSpace(strings.Join(lines, "\n"))
		}
		lines = nil
	}
	var reason []string
	for line := range strings.SplitSeq(log, "\n") {
		if n := len(t.steps); n < len(steps) && line == "> "+steps[n].line {
			end()
			t.steps = append(t.steps, "")
			continue
		}
		if comments[phaseTime.ReplaceAllString(line, "")] {
			continue
		}
		if prefix := failLine.FindString(line); prefix != "" {
			reason = []string{strings.TrimPrefix(line, prefix)}
		} else if reason != nil {
			reason = append(reason, line)
		}
		lines = append(lines, line)
	}
	end()
	t.reason = strings.TrimSpace(strings.Join(reason, "\n"))
	return t
}
