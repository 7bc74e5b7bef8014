package actions

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// hear reads what the step has told by its command files. It counts also when
// the step has failed.
func (e *execution) hear(files map[string]string) (map[string]string, error) {
	read := func(name string) string {
		b, err := os.ReadFile(files[name])
		if err != nil {
			return "" // removed by the step
		}
		return string(b)
	}
	outputs := map[string]string{}
	pairs, err := parsePairs(read("GITHUB_OUTPUT"))
	if err != nil {
		err = fmt.Errorf("GITHUB_OUTPUT: %w", err)
	}
	for _, p := range pairs {
		outputs[p.name] = p.value
	}
	settings, envErr := parsePairs(read("GITHUB_ENV"))
	if envErr != nil {
		err = errors.Join(err, fmt.Errorf("GITHUB_ENV: %w", envErr))
	}
	for _, p := range settings {
		if reserved(p.name) {
			e.say("::warning::GITHUB_ENV cannot set %s.", p.name)
			continue
		}
		e.setEnv[p.name] = p.value
	}
	e.paths = append(parsePaths(read("GITHUB_PATH")), e.paths...)
	if summary := read("GITHUB_STEP_SUMMARY"); strings.TrimSpace(summary) != "" {
		// the forge has no place of its own for it
		e.say("::group::Summary\n%s\n::endgroup::", strings.TrimRight(summary, "\n"))
	}
	return outputs, err
}
