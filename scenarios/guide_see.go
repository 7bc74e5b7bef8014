package scenarios

import (
	"fmt"
	"regexp"
	"strings"
)

// sights words what a check looks at, as a list of what a person sees.
type sights struct {
	*chapter
	items  []string
	rest   []scriptLine // after the line that is told
	output string       // what "stdout" is, at the beginning of a sentence
}

func (s *sights) say(format string, args ...any) {
	s.items = append(s.items, fmt.Sprintf(format, args...))
}

// once tells whether a fact is new in the chapter. Checks repeat what finds the
// commit that they are about; a reader needs it once.
func (s *sights) once(fact ...string) bool {
	key := strings.Join(fact, " ")
	told := s.told[key]
	s.told[key] = true
	return !told
}

// see tells one line of a check.
func (s *sights) see(args []string) error {
	not := false
	for len(args) > 0 && (args[0] == "!" || args[0] == "eventually") {
		if args[0] == "!" {
			not, args = true, args[1:]
		} else {
			args = args[2:]
		}
	}
	if len(args) == 0 {
		return nil
	}
	line := strings.Join(args, " ")
	w, rest, err := findWord(args)
	if err != nil { // it is one of testscript's own
		w, rest = word{name: args[0]}, args[1:]
	}
	switch name, _, _ := strings.Cut(w.name, " "); name {
	case "measure":
	case "pr":
		return s.seePull(w.name, rest, not, line)
	case "repo":
		return s.seeRepo(w.name, rest, not, line)
	case "issue", "status", "workflow":
		return s.seeForge(w.name, rest, not, line)
	case "says":
		return s.seeSays(rest, not)
	case "kubectl", "az", "kalypso":
		s.seeCommand(args, not)
	case "http":
		return s.seePage(rest, not, line)
	case "has-fields":
		return s.seeObjects(rest, not, line)
	case "same-yaml":
		s.seeContent(rest)
	case "stdout":
		s.say("%s %s %s.", s.output, doesNot(not, "says"), s.quote(plain(rest[0])))
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

// doesNot is a verb, or its negation.
func doesNot(not bool, verb string) string {
	if not {
		return "does not " + strings.TrimSuffix(verb, "s")
	}
	return verb
}

// quote shows a text; of an ID that only a run knows it says what it is.
func (s *sights) quote(text string) string {
	for variable, whose := range map[string]string{"$COMMIT": s.commit, "$MERGE_COMMIT": s.merge} {
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

// plain is what a simple regular expression looks for, as a person reads it.
func plain(expression string) string {
	if rest, ok := strings.CutSuffix(expression, "$"); ok {
		expression = rest
	}
	expression = strings.TrimPrefix(expression, "^")
	expression = regexp.MustCompile(`"\?`).ReplaceAllString(expression, "")
	return strings.NewReplacer(`\.`, ".", ".*", "...", "[1-9]", "N").Replace(expression)
}

// seeContent tells what a file holds, and shows it if it is new to the reader.
func (s *sights) seeContent(args []string) {
	what := s.output
	if args[0] != "stdout" {
		what = "`" + args[0] + "`"
	}
	content := s.content(args[1])
	if content == "" {
		s.say("%s holds what you have seen above.", what)
		return
	}
	s.say("%s holds:%s", what, content)
}

// content is a file as a part of an item, "" when it has been shown.
func (s *sights) content(name string) string {
	if s.shown[name] || s.files[name] == "" {
		return ""
	}
	s.shown[name] = true
	return within(language(name), s.files[name])
}

// within is a block of code within an item.
func within(language, text string) string {
	text = "```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```"
	return "\n\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}

func (s *sights) seePull(name string, args []string, not bool, line string) error {
	switch name {
	case "pr wait":
		return s.seePullWait(args, not)
	case "pr files":
		s.say("It changes these files and no others:%s", within("", strings.Join(optional(args), "\n")))
	case "pr show":
		s.output = fmt.Sprintf("On the pull request's tab *Files Changed*, `%s`", args[0])
	case "pr says":
		s.say("The pull request %s %s.", doesNot(not, "says"), ticked(args))
	case "pr label":
		s.say("The pull request has the label `%s`.", args[0])
	case "pr promotes":
		s.say("With the pull request, `%s` %s. If the pull request changes that file, it has the label `%s`.",
			trackingPath, s.promotes(not), promotedLabel)
	case "pr open":
		s.say("The pull request is open.")
	case "pr merged":
		if s.pull == nil {
			return fmt.Errorf("%q: nothing before says which", line)
		}
		s.merge = fmt.Sprintf("the merge commit of the pull request to `%s` of `%s`", s.pull.base, s.pull.repo)
		if s.once("merged", s.pull.repo, s.pull.base, s.commit, strings.Join(s.pull.files, " ")) {
			s.say("The pull request to `%s` of `%s` is merged.", s.pull.base, s.pull.repo)
		}
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

func (s *sights) seePullWait(args []string, not bool) error {
	q, err := readPullQuery(args[0], args[1], args[3:])
	if err != nil {
		return err
	}
	if not {
		s.say("`%s/%s/pulls` has no pull request to `%s` that changes %s.", guideOrg, q.repo, q.base, ticked(q.files))
		return nil
	}
	s.pull, s.branch = &q, q.base
	if s.next("pr merged") { // which says all
		return nil
	}
	if !s.once("pull", q.repo, q.base, s.commit, strings.Join(q.files, " ")) {
		return nil
	}
	changes := " that changes " + ticked(q.files)
	if s.next("pr files") { // which says more
		changes = ""
	}
	s.say("`%s/%s/pulls` has a pull request to `%s`%s.", guideOrg, q.repo, q.base, changes)
	return nil
}

// next tells whether a word comes next, but for measurements.
func (s *sights) next(name string) bool {
	for _, l := range s.rest {
		if !strings.HasPrefix(l.text, "measure ") {
			return strings.HasPrefix(l.text+" ", name+" ")
		}
	}
	return false
}

// optional marks the names of files that may be missing.
func optional(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = n
		if may, ok := strings.CutSuffix(n, "?"); ok {
			all[i] = may + "   (perhaps)"
		}
	}
	return all
}
