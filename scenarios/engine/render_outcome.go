package engine

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// outcome is what there is to see when a step is done: its check, or what it has
// a reader look at.
func (r *renderer) outcome(step scenarios.StepInfo) []block {
	_, all := r.outcomeAround(step, 0)
	return all
}

// outcomeAround is the outcome in two parts: by the lines of the scenario before
// one, and by that and those after it.
func (r *renderer) outcomeAround(step scenarios.StepInfo, line int) (before, from []block) {
	r.blocks, r.output = nil, ""
	lines := step.Sections[step.Outcome()]
	for i, l := range lines {
		r.rest = lines[i+1:]
		known := len(r.blocks)
		r.see(l, splitLine(l.Text))
		for n := range r.blocks[known:] {
			r.blocks[known+n].line = l.Number
		}
		if l.Number < line {
			before = append(before, r.blocks[known:]...)
		} else {
			from = append(from, r.blocks[known:]...)
		}
	}
	return before, from
}

func (r *renderer) see(l scenarios.Line, args []string) {
	not := false
	for len(args) > 0 && (args[0] == "!" || args[0] == "eventually" && len(args) > 2) {
		if args[0] == "!" {
			not, args = true, args[1:]
		} else {
			args = args[2:]
		}
	}
	if len(args) == 0 {
		return
	}
	c, rest, err := findCommand(args)
	switch {
	case args[0] == "stdout" && len(args) > 1:
		r.item("%s %s %s.", r.output, doesNot(not, "says"), r.quote(plain(args[1])))
	case args[0] == "says" && len(args) > 2:
		r.seeSays(l, rest, not)
	case err != nil || c.see == nil || not && !c.seeNot:
		r.unknown(l)
	default:
		c.see(r, rest, not)
	}
}

func (r *renderer) item(format string, args ...any) { r.add(item, "", fmt.Sprintf(format, args...)) }

// once says whether a fact is new to the reader. Checks repeat what finds the
// commit that they are about.
func (r *renderer) once(fact ...string) bool {
	key := strings.Join(fact, " ")
	seen := r.shown[key]
	r.shown[key] = true
	return !seen
}

// content adds a file to the item, unless the reader has seen it.
func (r *renderer) content(name string) bool {
	if r.files[name] == "" || !r.once(name) {
		return false
	}
	language := ""
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		language = "yaml"
	}
	r.add(itemCode, language, r.files[name])
	return true
}

func doesNot(not bool, verb string) string {
	if not {
		return "does not " + strings.TrimSuffix(verb, "s")
	}
	return verb
}

// quote shows a text; of an ID that only a run knows it says what it is.
func (r *renderer) quote(text string) string {
	for variable, whose := range map[string]string{"$COMMIT": r.commit, "$MERGE_COMMIT": r.merge} {
		before, after, found := strings.Cut(text, variable)
		switch {
		case !found:
		case before+after == "":
			return "the ID of " + whose
		default:
			return "`" + before + "ID" + after + "` with the ID of " + whose
		}
	}
	return "`" + text + "`"
}

// plain is what a simple regular expression looks for, for a reader.
func plain(expression string) string {
	if rest, ok := strings.CutSuffix(expression, "$"); ok {
		expression = rest
	}
	expression = strings.TrimPrefix(expression, "^")
	expression = regexp.MustCompile(`"\?`).ReplaceAllString(expression, "")
	return strings.NewReplacer(`\.`, ".", ".*", "...", "[1-9]", "N").Replace(expression)
}

// sees is a line in which {org} is the organisation's address, and {0} the first
// argument.
func sees(text string) func(*renderer, []string, bool) {
	return func(r *renderer, args []string, _ bool) {
		pairs := []string{"{org}", r.OrgURL}
		for i, a := range args {
			pairs = append(pairs, fmt.Sprintf("{%d}", i), a)
		}
		r.item("%s", strings.NewReplacer(pairs...).Replace(text))
	}
}

func (r *renderer) seeNothing([]string, bool) {}

func (r *renderer) seeSameYAML(args []string, _ bool) {
	what := r.output
	if args[0] != "stdout" {
		what = "`" + args[0] + "`"
	}
	r.item("%s holds:", what)
	if !r.content(args[1]) {
		r.blocks[len(r.blocks)-1].text = what + " holds what you have seen above."
	}
}

func (r *renderer) seePullWait(args []string, not bool) {
	q, err := readPullQuery(args[0], args[1], args[3:])
	if err != nil {
		return
	}
	if not {
		r.item("`%s/%s/pulls` has no pull request to `%s` that changes %s.", r.OrgURL, q.repo, q.base, codeList(q.files))
		return
	}
	r.pull, r.branch = &q, q.base
	if r.next("pr merged") || !r.once("pull", q.repo, q.base, r.commit, strings.Join(q.files, " ")) {
		return
	}
	changes := ""
	if len(q.files) > 0 && !r.next("pr files") {
		changes = " that changes " + codeList(q.files)
	}
	r.item("`%s/%s/pulls` has a pull request to `%s`%s.", r.OrgURL, q.repo, q.base, changes)
}

// next says whether a command comes next, but for measurements: it says more.
func (r *renderer) next(name string) bool {
	for _, l := range r.rest {
		if !strings.HasPrefix(l.Text, "measure ") {
			return strings.HasPrefix(l.Text+" ", name+" ")
		}
	}
	return false
}

func (r *renderer) seePullFiles(args []string, _ bool) {
	names := make([]string, len(args))
	for i, n := range args {
		names[i] = n
		if optional, ok := strings.CutSuffix(n, "?"); ok {
			names[i] = optional + "   (perhaps)"
		}
	}
	r.item("It changes these files and no others:")
	r.add(itemCode, "", strings.Join(names, "\n"))
}

func (r *renderer) seePullShow(args []string, _ bool) {
	r.output = fmt.Sprintf("On the pull request's tab *Files Changed*, `%s`", args[0])
}

func (r *renderer) seePullSays(args []string, not bool) {
	r.item("The pull request %s %s.", doesNot(not, "says"), codeList(args))
}

func (r *renderer) seePullPromotes(_ []string, not bool) {
	r.item("With the pull request, `%s` %s. If the pull request changes that file, it has the label `%s`.",
		trackingPath, r.promotes(not), promotedLabel)
}

func (r *renderer) seePullMerged([]string, bool) {
	if r.pull == nil {
		r.item("The pull request is merged.")
		r.err = fmt.Errorf("pr merged: no pr wait before it says which pull request")
		return
	}
	r.merge = fmt.Sprintf("the merge commit of the pull request to `%s` of `%s`", r.pull.base, r.pull.repo)
	if r.once("merged", r.pull.repo, r.pull.base, r.commit, strings.Join(r.pull.files, " ")) {
		r.item("The pull request to `%s` of `%s` is merged.", r.pull.base, r.pull.repo)
	}
}

// fileOn is where the forge shows a file.
func (r *renderer) fileOn(repo, branch, path string) string {
	return fmt.Sprintf("`%s/%s/src/branch/%s/%s`", r.OrgURL, repo, branch, path)
}

func (r *renderer) seeRepoShow(args []string, _ bool) {
	r.output = r.fileOn(args[0], args[1], args[2])
}

func (r *renderer) seeRepoFile(args []string, not bool) {
	r.commit, r.branch = fmt.Sprintf("the commit that brought `%s`", args[2]), args[1]
	if !r.once(append([]string{"file"}, args...)...) {
		return
	}
	where := r.fileOn(args[0], args[1], args[2])
	r.item("%s holds:", where)
	if not || !r.content(args[3]) {
		r.blocks[len(r.blocks)-1].text = where + " " + doesNot(not, "shows") + " the file."
	}
}

func (r *renderer) seeRepoPromotes(args []string, not bool) {
	r.item("%s %s.", r.fileOn(args[0], args[1], basePath), r.promotes(not))
}

func (r *renderer) promotes(not bool) string {
	if not {
		return "has neither the ID of " + r.commit + ", nor that of a later one that contains it"
	}
	return "has the ID of " + r.commit + ", or of a later one that contains it"
}

func (r *renderer) seeIssueOpen(args []string, _ bool) {
	r.item("`%s/%s/issues` has an open issue *%s*.%s", r.OrgURL, args[0], args[1], says(args[2:]))
}

func (r *renderer) seeStatus(args []string, _ bool) {
	whose := r.commit
	if args[1] == "$MERGE_COMMIT" {
		whose = r.merge
	}
	description := ""
	if len(args) == 5 {
		description = fmt.Sprintf(", with the text *%s*", args[4])
	}
	r.item("On `%s/%s/commits/branch/%s`, %s has the status *%s*: %s%s.",
		r.OrgURL, args[0], r.branch, whose, args[2], args[3], description)
}

func (r *renderer) seeWorkflowWait(args []string, _ bool) {
	ended := map[string]string{"success": "succeeded", "failure": "failed"}[append(args, "success")[4]]
	r.item("`%s/%s/actions?workflow=%s` has a run that has %s.", r.OrgURL, args[0], args[1], ended)
}

// seeSays is a command, and a text that it prints or does not.
func (r *renderer) seeSays(l scenarios.Line, args []string, not bool) {
	text, command := args[0], args[1:]
	switch command[0] {
	case "kubectl", "az", "kalypso":
		r.output = "It"
		r.item("This %s %s:", doesNot(not, "prints"), r.quote(text))
		r.add(itemCode, "sh", r.kalypso(command))
		return
	}
	r.see(l, command)
	r.item("%s %s %s.", r.output, doesNot(not, "says"), r.quote(text))
}

// kalypso spells a line of kubectl, az or kalypso for a reader.
func (r *renderer) kalypso(args []string) string {
	if args[0] != "kalypso" {
		args = append([]string{"kalypso"}, args...)
	}
	return r.commandLine(args)
}

func seeProgram(name string) func(*renderer, []string, bool) {
	return func(r *renderer, args []string, not bool) {
		r.output = "It"
		if not {
			r.item("This finds nothing any more:")
		} else {
			r.item("This finds it:")
		}
		r.add(itemCode, "sh", r.kalypso(append([]string{name}, args...)))
	}
}

// seeHTTP is a page of an application, which a port-forward brings here.
func (r *renderer) seeHTTP(args []string, _ bool) {
	forward := []string{"kalypso", "kubectl"}
	if args[0] == "--context" {
		forward, args = append(forward, args[:2]...), args[2:]
	}
	namespace, service, port, path, texts := args[0], args[1], args[2], args[3], args[4:]
	forward = append(forward, "--namespace", namespace, "port-forward", service, port+":"+port)
	r.item("While this runs, the page http://localhost:%s%s answers.%s End it with ctrl-c.", port, path, says(texts))
	r.add(itemCode, "sh", r.commandLine(forward))
}

// seeFields are objects on a cluster: commands that show them, and what they
// hold if the reader has not seen it.
func (r *renderer) seeFields(args []string, _ bool) {
	var flags, commands []string
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			flags = args[i:]
			args = args[:i]
			break
		}
	}
	for _, file := range args {
		objects, err := parseObjects(file, []byte(r.files[file]))
		if err != nil {
			r.err = err
			return
		}
		for _, o := range objects {
			commands = append(commands, r.commandLine(getCommand(o, flags)))
		}
	}
	where := "the cluster"
	if len(flags) == 2 && flags[0] == "--context" {
		where = "`" + flags[1] + "`"
	}
	r.item("These are on %s, with these fields:", where)
	first := len(r.blocks) - 1
	r.add(itemCode, "sh", strings.Join(commands, "\n"))
	contents := false
	for _, file := range args {
		contents = r.content(file) || contents
	}
	if !contents {
		r.blocks[first].text = "These are on " + where + ", as you have seen above:"
	}
}

// getCommand shows an object on the cluster that flags name; one that holds
// settings is shown as a whole.
func getCommand(object any, flags []string) []string {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	command := append([]string{"kalypso", "kubectl"}, flags...)
	if namespace, ok := metadata["namespace"].(string); ok {
		command = append(command, "--namespace", namespace)
	}
	kind := fmt.Sprint(fields["kind"])
	command = append(command, "get", strings.ToLower(kind), fmt.Sprint(metadata["name"]))
	if kind == "ConfigMap" {
		command = append(command, "--output", "yaml")
	}
	return command
}

func says(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return " It says " + codeList(texts) + "."
}

// codeList lists names as code.
func codeList(names []string) string {
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
