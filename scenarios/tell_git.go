package scenarios

import (
	"fmt"
	"io/fs"
)

// The lines of a script about git, with the word they begin with, as a person
// types them.

// cloneFolder is the folder that a line clones into.
func cloneFolder(args []string) string {
	if len(args) == 4 {
		return args[3]
	}
	return args[1]
}

func cloneLine(orgURL string, args []string) string {
	into := ""
	if len(args) == 4 {
		into = " " + args[3]
	}
	return fmt.Sprintf("git clone --branch %s %s/%s%s", args[2], orgURL, args[1], into)
}

// switchLines bring a clone that is there already to the branch.
func switchLines(args []string) string {
	return fmt.Sprintf("git -C %s fetch\ngit -C %[1]s switch %s\ngit -C %[1]s pull", cloneFolder(args), args[2])
}

// pushLines take in what others have pushed in between: the scheduler and the
// workflows push to the same branches.
func pushLines(args []string) string {
	return fmt.Sprintf("git -C %s add .\ngit -C %[1]s commit -m %s\ngit -C %[1]s pull --rebase\ngit -C %[1]s push",
		args[1], quoteForShell(args[2]))
}

// clonedBefore are the folders that the scenarios before one clone into.
func clonedBefore(library fs.FS, workshop, name string) (map[string]bool, error) {
	names, err := order(library, workshop)
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for _, before := range names {
		if before == name {
			break
		}
		text, err := source(library, workshop, before)
		if err != nil {
			return nil, err
		}
		for _, step := range describe(workshop, before, text).Steps {
			for _, l := range step.sections[solve] {
				if args := splitLine(l.text); len(args) > 0 && args[0] == "clone" {
					folders[cloneFolder(args)] = true
				}
			}
		}
	}
	return folders, nil
}
