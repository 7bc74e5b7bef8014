package docgen

import "github.com/kalypso-dev/kalypso/scenarios/engine"

// ScenarioCommands is the page with the commands that scenarios are written in.
func ScenarioCommands() string {
	return `# The commands of scenarios

A scenario is a text file that a learner can read and copy from, and that a program can run and check.

` + "```sh" + `
kalypso scenario show onboard-app --raw   # as it is written
kalypso scenario show onboard-app         # as a user does it
kalypso scenario run onboard-app          # as a test
` + "```" + `

Its format is described in the package comment of ` + "`scenarios`" + `. Each line of a step is one of the commands below, or one of those of testscript (` + "`exec`, `cp`, `grep`, `cmp`, `stdout`, `env`" + ` and so on). ` + "`!`" + ` before a command that changes nothing makes it hold when the command does not.

` + engine.Reference()
}
