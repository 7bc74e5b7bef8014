package engine

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// renderer writes the commands of a scenario's steps, one step after another, as
// what a user does and sees. A file or a fact is shown once.
type renderer struct {
	*Page
	cloned map[string]bool // folders that the reader has
	shown  map[string]bool // files, and facts
	pull   *pullQuery      // the pull request that it is about
	commit string          // what $COMMIT is, in words
	merge  string          // and what $MERGE_COMMIT is
	branch string          // the branch that the commit is on

	output string           // what "stdout" is, at the beginning of a sentence
	rest   []scenarios.Line // after the present one
	blocks []block          // of the present section
	err    error            // the first command that has no form for a reader
}

func newRenderer(p *Page) *renderer {
	return &renderer{Page: p, cloned: maps.Clone(p.cloned), shown: map[string]bool{}}
}

// actions is what a step has the user do.
func (r *renderer) actions(step scenarios.StepInfo) []block {
	r.blocks = nil
	for _, l := range step.Sections[scenarios.Solve] {
		args := splitLine(l.Text)
		if len(args) == 0 {
			continue
		}
		c, rest, err := findCommand(args)
		switch {
		case args[0] == "exec":
			r.shell("%s", r.commandLine(args[1:]))
		case err != nil || c.do == nil:
			r.unknown(l)
		default:
			c.do(r, rest)
		}
	}
	return r.blocks
}

// unknown keeps a line that has no form for a reader, so that none is lost.
func (r *renderer) unknown(l scenarios.Line) {
	r.paragraph("`%s`", l.Text)
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %q has no form for a reader", l.Number, l.Text)
	}
}

func (r *renderer) add(kind blockKind, lang, text string) {
	r.blocks = append(r.blocks, block{kind: kind, text: text, lang: lang})
}

func (r *renderer) paragraph(format string, args ...any) {
	r.add(paragraph, "", fmt.Sprintf(format, args...))
}

// fileOf says of the last block which file the reader has at a path then.
func (r *renderer) fileOf(name, path string) {
	b := &r.blocks[len(r.blocks)-1]
	b.file, b.path = name, path
}

// shell adds lines for a shell, to the block of them that is there.
func (r *renderer) shell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n := len(r.blocks); n > 0 && r.blocks[n-1].kind == code && r.blocks[n-1].lang == "sh" {
		r.blocks[n-1].text += "\n" + text
		return
	}
	r.add(code, "sh", text)
}

func (r *renderer) doClone(args []string) {
	folder, branch := cloneFolder(args), args[1]
	into := ""
	if len(args) == 3 {
		into = " " + folder
	}
	clone := fmt.Sprintf("git clone --branch %s %s/%s%s", branch, r.OrgURL, args[0], into)
	update := fmt.Sprintf("git -C %s fetch\ngit -C %[1]s switch %s\ngit -C %[1]s pull", folder, branch)
	switch {
	case !r.cloned[folder]:
		r.shell("%s", clone)
	case r.Sequential:
		r.shell("%s", update)
	default: // only if the reader has done it in this folder
		r.shell("[ -d %s ] || %s\n%s", folder, clone, update)
	}
	r.branch, r.cloned[folder] = branch, true
}

// cloneFolder is the folder that a clone is made in.
func cloneFolder(args []string) string {
	if len(args) == 3 {
		return args[2]
	}
	return args[0]
}

func (r *renderer) doPull(args []string) { r.shell("git -C %s pull", args[0]) }

// doPush takes in what others have pushed in between: the scheduler and the
// workflows push to the same branches.
func (r *renderer) doPush(args []string) {
	r.shell("git -C %s add .\ngit -C %[1]s commit -m %s\ngit -C %[1]s pull --rebase\ngit -C %[1]s push", args[0], quoteForShell(args[1]))
	r.commit = "your commit"
}

// doWrite writes a file as a here-document, in which the shell fills in nothing
// but the organisation.
func (r *renderer) doWrite(args []string) {
	name, to := args[0], args[1]
	r.paragraph("Write `%s`:", to)
	r.fileOf(name, to)
	r.shown[name] = true
	content, quote := r.files[name], "'"
	if strings.HasPrefix(r.OrgURL, "$") && strings.Contains(content, r.OrgURL) {
		quote = ""
		content = strings.NewReplacer(r.OrgURL, r.OrgURL, `\`, `\\`, "`", "\\`", "$", `\$`).Replace(content)
	}
	r.shell("mkdir -p %s\ncat >%s <<%sEOF%[3]s\n%s\nEOF", path.Dir(to), to, quote, strings.TrimRight(content, "\n"))
}

func (r *renderer) doEdit(args []string) {
	r.paragraph("In an editor, change this in `%s`:", args[0])
	r.fileOf(args[2], args[0])
	r.add(code, "diff", changed(r.files[args[1]], r.files[args[2]]))
	r.shown[args[2]] = true
}

func doProgram(name string) func(*renderer, []string) {
	return func(r *renderer, args []string) { r.shell("%s", r.kalypso(append([]string{name}, args...))) }
}

func (r *renderer) doPullWait(args []string) {
	if q, err := readPullQuery(args[0], args[1], args[3:]); err == nil {
		r.pull = &q
	}
}

func (r *renderer) doPullMerge([]string) {
	if r.pull == nil {
		r.paragraph("Merge the pull request in the browser.")
		r.err = fmt.Errorf("pr merge: no pr wait before it says which pull request")
		return
	}
	r.paragraph("Open `%s/%s/pulls` in the browser. Merge the pull request to `%s` that changes %s.",
		r.OrgURL, r.pull.repo, r.pull.base, codeList(r.pull.files))
}

func (r *renderer) doWorkflowRun(args []string) {
	inputs := ""
	if len(args) > 3 {
		inputs = " with " + codeList(args[3:])
	}
	r.paragraph("Open `%s/%s/actions?workflow=%s` in the browser. Press *Run Workflow*, and run it on the branch `%s`%s.",
		r.OrgURL, args[0], args[1], args[2], inputs)
}

func (r *renderer) doWorkflowWait([]string) { r.paragraph("Wait until the run has ended.") }

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

// shellVariable finds the variables that a reader has in the shell.
var shellVariable = regexp.MustCompile(`\$(TOKEN|FORGE|ORG_URL)\b`)

// commandWidth is where the lines of long commands end, if they can.
const commandWidth = 110

// commandLine spells a command for a shell; a long one takes several lines.
func (r *renderer) commandLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteForShell(strings.ReplaceAll(a, "$ORG_URL", r.OrgURL))
	}
	var b strings.Builder
	width := 0
	for i, part := range strings.Split(strings.Join(words, " "), " --") {
		switch {
		case i == 0:
			b.WriteString(part)
			width = len(part)
			continue
		case width+len(" --")+len(part) > commandWidth:
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

// quoteForShell quotes a command where it must be, and lets the shell fill in the
// reader's own variables.
func quoteForShell(word string) string {
	rest := shellVariable.ReplaceAllString(word, "")
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\n'\"$&|;<>()*?#\\`{}[]"):
		return word
	case rest != word && !strings.ContainsAny(rest, "\"$\\`"), strings.Contains(word, "'") && !strings.ContainsAny(word, "\"$\\`"):
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// splitLine divides a line as testscript does: at spaces, but not within
// single quotes, of which two are one. Variables stay as they are.
func splitLine(line string) []string {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && quoted && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			quoted, begun = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case !quoted && c == '#' && !begun:
			i = len(line)
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
