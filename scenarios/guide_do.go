package scenarios

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// do writes a line of a solve section as what a person does.
func (c *chapter) do(args []string) error {
	if len(args) == 0 {
		return nil
	}
	line := strings.Join(args, " ")
	switch args[0] {
	case "clone":
		c.clone(args)
	case "pull":
		c.sh("git -C %s pull", args[1])
	case "push":
		c.sh("%s", pushLines(args))
		c.commit = "your commit"
	case "write":
		c.endDeeds()
		c.guide.part("Write `%s`:", args[2])
		c.sh("%s", c.hereDocument(args[1], args[2]))
	case "edit":
		c.endDeeds()
		c.guide.part("In an editor, change this in `%s`:", args[1])
		c.guide.part("```diff\n%s```", changed(c.files[args[2]], c.files[args[3]]))
		c.shown[args[3]] = true
	case "kubectl", "az":
		c.sh("%s", commandLine(append([]string{"kalypso"}, args...)))
	case "kalypso":
		c.sh("%s", commandLine(args))
	case "exec":
		c.sh("%s", commandLine(args[1:]))
	case "pr":
		return c.pullDeed(args, line)
	case "workflow":
		c.endDeeds()
		c.workflow(args)
	case "repo", "measure": // they do nothing that a person does
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

func (c *chapter) clone(args []string) {
	c.branch = args[2]
	folder := cloneFolder(args)
	if c.guide.cloned[folder] {
		c.sh("%s", switchLines(args))
		return
	}
	c.guide.cloned[folder] = true
	c.sh("%s", cloneLine(guideOrg, args))
}

func (c *chapter) pullDeed(args []string, line string) error {
	switch args[1] {
	case "wait":
		q, err := readPullQuery(args[2], args[3], args[5:])
		if err != nil {
			return err
		}
		c.pull = &q
	case "merge":
		if c.pull == nil {
			return fmt.Errorf("%q: nothing before says which", line)
		}
		c.endDeeds()
		c.guide.part("Open `%s/%s/pulls` in the browser. Merge the pull request to `%s` that changes %s.",
			guideOrg, c.pull.repo, c.pull.base, ticked(c.pull.files))
	case "merged": // it only finds a commit for what follows
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

func (c *chapter) workflow(args []string) {
	if args[1] == "wait" {
		c.guide.part("Wait until the run has ended.")
		return
	}
	inputs := ""
	if len(args) > 5 {
		inputs = " with " + ticked(args[5:])
	}
	c.guide.part("Open `%s/%s/actions?workflow=%s` in the browser. Press *Run Workflow*, and run it on the branch `%s`%s.",
		guideOrg, args[2], args[3], args[4], inputs)
}

// sh collects lines for a shell; endDeeds writes them as one block.
func (c *chapter) sh(format string, args ...any) {
	c.shell = append(c.shell, fmt.Sprintf(format, args...))
}

func (c *chapter) endDeeds() {
	if len(c.shell) > 0 {
		c.guide.part("```sh\n%s\n```", strings.Join(c.shell, "\n"))
	}
	c.shell = nil
}

// hereDocument writes a file of the scenario to where it belongs. The shell
// fills in nothing but the organisation.
func (c *chapter) hereDocument(name, to string) string {
	c.shown[name] = true
	content, quote := c.files[name], "'"
	if strings.Contains(content, guideOrg) {
		quote = ""
		content = strings.NewReplacer(guideOrg, guideOrg, `\`, `\\`, "`", "\\`", "$", `\$`).Replace(content)
	}
	return fmt.Sprintf("mkdir -p %s\ncat >%s <<%sEOF%[3]s\n%s\nEOF", path.Dir(to), to, quote, strings.TrimRight(content, "\n"))
}

// changed shows lines that take the place of others, as a diff does.
func changed(before, after string) string {
	var b strings.Builder
	was, is := splitLines(before), splitLines(after)
	write := func(sign string, lines []string) {
		for _, l := range lines {
			b.WriteString(sign + l + "\n")
		}
	}
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	write(" ", was[:same])
	was, is = was[same:], is[same:]
	same = 0
	for same < min(len(was), len(is)) && was[len(was)-1-same] == is[len(is)-1-same] {
		same++
	}
	write("-", was[:len(was)-same])
	write("+", is[:len(is)-same])
	write(" ", was[len(was)-same:])
	return b.String()
}

func splitLines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// forShell finds the variables that a guide's reader has in his shell.
var forShell = regexp.MustCompile(`\$(TOKEN|FORGE)\b`)

// guideWidth is where the lines of long commands end, if they can.
const guideWidth = 110

// commandLine spells a command for a shell; a long one takes several lines.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteForShell(strings.ReplaceAll(a, "$ORG_URL", guideOrg))
	}
	var b strings.Builder
	width := 0
	for i, part := range strings.Split(strings.Join(words, " "), " --") {
		switch {
		case i == 0:
			b.WriteString(part)
			width = len(part)
			continue
		case width+len(" --")+len(part) > guideWidth:
			b.WriteString(" \\\n  --" + part)
			width = len("  --")
		default:
			b.WriteString(" --" + part)
			width += len(" --")
		}
		width += len(part)
	}
	return b.String()
}

// quoteForShell quotes a word where it must be, and lets the shell fill in the
// reader's own variables.
func quoteForShell(word string) string {
	rest := forShell.ReplaceAllString(word, "")
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\n'\"$&|;<>()*?#\\`{}[]"):
		return word
	case rest != word && !strings.ContainsAny(rest, "\"$\\`"), strings.Contains(word, "'") && !strings.ContainsAny(word, "\"$\\`"):
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
