package scenarios

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

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

// deeds are the lines of a solve section as a person does them.
func (p *Page) deeds(lines []scriptLine) []block {
	var all []block
	add := func(kind blockKind, lang, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if n := len(all); kind == code && lang == "sh" && n > 0 && all[n-1].kind == code && all[n-1].lang == "sh" {
			all[n-1].text += "\n" + text
			return
		}
		all = append(all, block{kind: kind, text: text, lang: lang})
	}
	for _, l := range lines {
		args := splitLine(l.text)
		if len(args) == 0 {
			continue
		}
		switch word := args[0]; word {
		case "clone":
			dir := cloneFolder(args)
			if p.cloned[dir] { // by the reader, if they have done it where they are now
				add(code, "sh", "[ -d %s ] || %s\n%s", dir, cloneLine(p.OrgURL, args), switchLines(args))
			} else {
				add(code, "sh", "%s", cloneLine(p.OrgURL, args))
			}
			p.cloned[dir] = true
		case "pull":
			add(code, "sh", "git -C %s pull", args[1])
		case "push":
			add(code, "sh", "%s", pushLines(args))
		case "write":
			add(paragraph, "", "Write `%s`:", args[2])
			add(code, language(args[2]), "%s", p.file(args[1]))
		case "edit":
			add(paragraph, "", "In `%s`, replace", args[1])
			add(code, language(args[1]), "%s", p.file(args[2]))
			add(paragraph, "", "by")
			add(code, language(args[1]), "%s", p.file(args[3]))
		case "pr":
			if len(args) > 3 && args[1] == "wait" {
				add(paragraph, "", "Open the pull request to `%s` of `%s` in the browser.", args[3], args[2])
			} else if args[1] == "merge" {
				add(paragraph, "", "Merge the pull request in the browser.")
			}
		case "workflow":
			if args[1] == "run" {
				add(paragraph, "", "In `%s`, on the tab Actions, choose `%s` and press *Run workflow* on branch `%s`.", args[2], args[3], args[4])
			}
		case "kubectl":
			add(code, "sh", "%s", p.command(append([]string{"kalypso"}, args...)))
		case "az", "kalypso":
			add(code, "sh", "%s", p.command(args))
		case "exec":
			add(code, "sh", "%s", shellWords(args[1:]))
		}
	}
	return all
}

// expanded finds what a shell is to fill in.
var expanded = regexp.MustCompile(`'([^']*\$(?:TOKEN|ORG_URL)[^']*)'`)

// command spells a command, with many flags in lines, as the tutorials do.
func (p *Page) command(args []string) string {
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "$ORG_URL", p.OrgURL)
	}
	line := expanded.ReplaceAllString(shellWords(args), `"$1"`)
	if len(line) < 100 {
		return line
	}
	return strings.ReplaceAll(line, " --", " \\\n    --")
}

func language(file string) string {
	switch path.Ext(file) {
	case ".yaml", ".yml":
		return "yaml"
	}
	return ""
}

// file is a file's content, which counts as shown from now on.
func (p *Page) file(name string) string {
	p.told[name] = true
	return p.files[name]
}

// sights are the lines of a check as a person sees them. What a file of the
// scenario holds is shown once.
func (p *Page) sights(lines []scriptLine) []block {
	v := viewer{page: p}
	for _, l := range lines {
		args := splitLine(l.text)
		not := false
		if len(args) > 0 && args[0] == "!" {
			not, args = true, args[1:]
		}
		if len(args) > 2 && args[0] == "eventually" {
			args = args[2:]
			if args[0] == "!" {
				not, args = true, args[1:]
			}
		}
		if len(args) > 0 {
			v.see(args, not)
		}
	}
	return v.blocks
}

// viewer words what a check looks at.
type viewer struct {
	page   *Page
	shown  string // what "stdout" is
	blocks []block
}

// commitWords are for what only a run knows.
var commitWords = strings.NewReplacer("$COMMIT", "<your commit>", "$MERGE_COMMIT", "<the merge commit>")

func (v *viewer) say(not bool, format string, args ...any) {
	text := commitWords.Replace(fmt.Sprintf(format, args...))
	if not {
		text = "This is not so: " + text
	}
	v.blocks = append(v.blocks, block{kind: item, text: text})
}

func (v *viewer) content(name string) {
	if v.page.told[name] || v.page.files[name] == "" {
		return
	}
	v.blocks = append(v.blocks, block{kind: code, text: v.page.file(name), lang: language(name)})
}

func (v *viewer) see(args []string, not bool) {
	if args[0] == "says" && len(args) > 2 {
		v.see(args[2:], not)
		v.say(not, "It says `%s`.", args[1])
		return
	}
	word := args[0]
	if len(args) > 1 {
		switch word {
		case "pr", "repo", "issue", "workflow", "http":
			word, args = word+" "+args[1], args[1:]
		}
	}
	args = args[1:]
	switch word {
	case "pr wait":
		v.pullRequest(args, not)
	case "pr files":
		v.say(not, "It changes exactly these files: %s.", ticked(args))
	case "pr show":
		v.shown = fmt.Sprintf("`%s` of the pull request", args[0])
	case "pr says":
		v.say(not, "The pull request says: %s.", ticked(args))
	case "pr label":
		v.say(not, "It has the label `%s`.", args[0])
	case "pr promotes":
		v.say(not, "With it, `%s` names %s, or a later commit that contains it. It has the label `%s` if it changes that file.",
			trackingPath, args[1], promotedLabel)
	case "pr open":
		v.say(not, "The pull request is open.")
	case "pr merged":
		v.say(not, "The pull request is merged.")
	case "repo show":
		v.shown = fmt.Sprintf("`%s` on branch `%s` of `%s`", args[2], args[1], args[0])
	case "repo same-yaml", "repo has-text":
		v.say(not, "`%s` is on branch `%s` of `%s`.", args[2], args[1], args[0])
		v.content(args[3])
	case "repo promotes":
		v.say(not, "`%s` on branch `%s` of `%s` names %s, or a later commit that contains it.", basePath, args[1], args[0], args[2])
	case "repo gone":
		v.say(not, "There is no repository `%s` any more.", args[0])
	case "issue open":
		v.say(not, "In `%s` an issue is open: *%s*.%s", args[0], args[1], says(args[2:]))
	case "issue count":
		v.say(not, "In `%s` the number of open issues is %s.", args[0], args[1])
	case "issue closed":
		v.say(not, "In `%s` the issue is closed: *%s*.", args[0], args[1])
	case "status":
		description := ""
		if len(args) == 5 {
			description = ", " + args[4]
		}
		v.say(not, "The commit in `%s` has the status *%s*: %s%s.", args[0], args[2], args[3], description)
	case "workflow wait":
		v.say(not, "The workflow `%s` of `%s` ends with %s.", args[1], args[0], append(args, "success")[4])
	case "http get":
		v.web(args, not)
	case "kubectl", "az", "kalypso":
		v.shown = fmt.Sprintf("`%s`", shellWords(append([]string{word}, args...)))
		v.say(not, "Run %s.", v.shown)
	case "same-yaml":
		if args[0] == "stdout" {
			v.say(not, "%s holds:", v.shown)
		} else {
			v.say(not, "`%s` holds:", args[0])
		}
		v.content(args[1])
	case "has-fields":
		v.cluster(args, not)
	case "stdout":
		v.say(not, "%s says `%s`.", v.shown, strings.TrimSuffix(strings.TrimPrefix(args[0], "^"), "$"))
	case "grep":
		v.say(not, "`%s` says `%s`.", args[1], args[0])
	}
}

func (v *viewer) pullRequest(args []string, not bool) {
	q, err := readPullQuery(args[0], args[1], args[3:])
	if err != nil {
		return
	}
	text := fmt.Sprintf("There is a pull request to `%s` of `%s`", q.base, q.repo)
	if len(q.files) > 0 {
		text += " that changes " + ticked(q.files)
	}
	v.say(not, "%s.", text)
}

func (v *viewer) web(args []string, not bool) {
	context := ""
	if args[0] == "--context" {
		context, args = " --context "+args[1], args[2:]
	}
	v.say(not, "With `kalypso kubectl%s -n %s port-forward %s %s:%[4]s`, the page http://localhost:%[4]s%s answers.%s",
		context, args[0], args[1], args[2], args[3], says(args[4:]))
}

func (v *viewer) cluster(args []string, not bool) {
	var files []string
	cluster := "The cluster"
	for i, a := range args {
		if a == "--context" && i+1 < len(args) {
			cluster = "Cluster `" + args[i+1] + "`"
		}
		if strings.HasPrefix(a, "-") {
			break
		}
		files = append(files, a)
	}
	v.say(not, "%s has the objects of %s.", cluster, ticked(files))
	for _, f := range files {
		v.content(f)
	}
}

func says(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return " It says " + ticked(texts) + "."
}

// ticked lists names as code.
func ticked(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		n, optional := strings.CutSuffix(n, "?")
		all[i] = "`" + n + "`"
		if optional {
			all[i] += " (perhaps)"
		}
	}
	return strings.Join(all, ", ")
}
