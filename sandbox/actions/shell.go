package actions

import (
	"fmt"
	"slices"
	"strings"
)

// placeholder stands for the script's path in a shell's command line.
const placeholder = "{0}"

// shells are the command lines of the shells that a step can name.
var shells = map[string]string{
	"bash":   "bash --noprofile --norc -eo pipefail {0}",
	"sh":     "sh -e {0}",
	"python": "python3 {0}",
}

// shellCommand is the command line that runs a script. The step may name a
// shell, or give a command line of its own with {0} in it; without either it
// is bash, and sh where there is no bash.
func shellCommand(shell, script string, has func(program string) bool) ([]string, error) {
	line := shell
	switch known, ok := shells[shell]; {
	case ok:
		line = known
	case shell == "" && has("bash"):
		line = "bash -e {0}"
	case shell == "":
		line = shells["sh"]
	case !strings.Contains(shell, placeholder):
		return nil, fmt.Errorf("shell: %q is not served here: use bash, sh, python, or a command line with {0} for the script", shell)
	}
	argv := strings.Fields(line)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], placeholder, script)
	}
	if !has(argv[0]) {
		return nil, fmt.Errorf("shell: there is no program %s on this machine", argv[0])
	}
	return slices.Clip(argv), nil
}
