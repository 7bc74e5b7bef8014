package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/rogpeppe/go-internal/testscript"
)

// command is a command that a scenario's line can begin with, besides those of
// testscript. All that is to be known of one is in its row of the table.
type command struct {
	name  string // one word, or two as in "pr wait"
	usage string // its arguments
	help  string
	min   int // number of arguments
	max   int // -1 is any
	// readOnly says whether a line changes nothing, so that it may be tried again,
	// be negated, and be part of a check; nil is never.
	readOnly func(args []string) bool
	run      func(s *script, args []string) error
	pull     bool                                       // it is about the pull request that was found last
	do       func(r *renderer, args []string)           // as an action for a reader
	see      func(r *renderer, args []string, not bool) // as something to see
	seeNot   bool                                       // see can be negated
}

func always([]string) bool { return true }

// commands is the table of them. It is a function since some rows run others.
func commands() []command {
	return []command{
		{name: "step", usage: "TITLE", min: 1, max: -1, run: (*script).runNothing,
			help: "begin a step"},
		{name: "hint", usage: "TEXT", min: 1, max: -1, run: (*script).runNothing,
			help: "help that is given when a user asks for it"},
		{name: "needs", usage: "real-pods CLUSTER...", min: 2, max: -1, run: (*script).runNothing,
			help: "the check needs pods that really run; where they do not, the step is done, is not checked, and is called simulated"},
		{name: "transient", run: (*script).runNothing,
			help: "later steps change what the check sees; once the next action is done, the step counts as done"},
		{name: "setup", run: (*script).runNothing,
			help: "begin the section that prepares the step; it makes nothing that the step is about"},
		{name: "solve", run: (*script).runNothing,
			help: "begin the section with what a user does; it clones what it needs"},
		{name: "check", run: (*script).runNothing,
			help: "begin the section with what must hold afterwards, and must not before; it changes nothing"},
		{name: "look", usage: "[(holds before)]", max: 2, run: (*script).runLook,
			help: "begin the section with what there is to see in a step without solve; (holds before) marks what the last action does not change"},

		{name: "clone", usage: "REPO BRANCH [DIR]", min: 2, max: 3, run: (*script).runClone, do: (*renderer).doClone,
			help: "clone a repository of the organisation; a folder that is a clone already is brought to the branch"},
		{name: "write", usage: "FILE DEST", min: 2, max: 2, run: (*script).runWrite, do: (*renderer).doWrite,
			help: "copy a file to where it belongs, making folders"},
		{name: "edit", usage: "DEST OLD NEW", min: 3, max: 3, run: (*script).runEdit, do: (*renderer).doEdit,
			help: "replace the lines of file OLD by those of file NEW"},
		{name: "pull", usage: "DIR", min: 1, max: 1, run: (*script).runPull, do: (*renderer).doPull,
			help: "take in what others have pushed"},
		{name: "push", usage: "DIR MESSAGE", min: 2, max: 2, run: (*script).runPush, do: (*renderer).doPush,
			help: "commit everything and push; sets $COMMIT. What has been pushed before with that message is not pushed again"},

		{name: "repo show", usage: "REPO BRANCH PATH", min: 3, max: 3, readOnly: always, run: (*script).runRepoShow, see: (*renderer).seeRepoShow, do: hidden,
			help: "print a file"},
		{name: "repo same-yaml", usage: "REPO BRANCH PATH WANTED", min: 4, max: 4, readOnly: always, run: (*script).runRepoSameYAML, see: (*renderer).seeRepoFile, seeNot: true, do: hidden,
			help: "a file has the same objects as WANTED; sets $COMMIT to the commit by which the branch came to have it: a merge, if it came by a pull request"},
		{name: "repo has-objects", usage: "REPO BRANCH PATH WANTED", min: 4, max: 4, readOnly: always, run: (*script).runRepoHasObjects, see: (*renderer).seeRepoFile, seeNot: true, do: hidden,
			help: "a branch has the objects of WANTED, in files of any name and folder; PATH is where the tutorial has them. Sets $COMMIT in the same way"},
		{name: "repo has-text", usage: "REPO BRANCH PATH WANTED", min: 4, max: 4, readOnly: always, run: (*script).runRepoHasText, see: (*renderer).seeRepoFile, seeNot: true, do: hidden,
			help: "a file has the lines of WANTED; sets $COMMIT in the same way"},
		{name: "repo promotes", usage: "REPO BRANCH COMMIT", min: 3, max: 3, readOnly: always, run: (*script).runRepoPromotes, see: (*renderer).seeRepoPromotes, seeNot: true, do: hidden,
			help: "an environment's branch takes, by its base-repo.yaml, the commit or one that contains it"},
		{name: "repo gone", usage: "REPO", min: 1, max: 1, readOnly: always, run: (*script).runRepoGone, see: sees("`{org}/{0}` is not there any more."), do: hidden,
			help: "there is no such repository any more"},

		{name: "pr wait", usage: "REPO BASE DURATION [KEY=VALUE...] [FILE...]", min: 3, max: -1, readOnly: always, run: (*script).runPRWait, see: (*renderer).seePullWait, seeNot: true, do: (*renderer).doPullWait,
			help: "wait for the pull request to BASE that changes every FILE and is not older than the last commit that was pushed, found or merged; sets $PR, $PR_URL and $PR_HEAD. It is one of the scheduler or of a workflow, or with by=anybody any user's. merged=too takes one that is merged. title=REGEXP and label=NAME ask for more. The other commands about pull requests are about this one"},
		{name: "pr files", pull: true, usage: "FILE...", min: 1, max: -1, readOnly: always, run: (*script).runPRFiles, see: (*renderer).seePullFiles,
			help: "it changes exactly these files; one that ends in \"?\" may be missing"},
		{name: "pr show", pull: true, usage: "PATH", min: 1, max: 1, readOnly: always, run: (*script).runPRShow, see: (*renderer).seePullShow,
			help: "print a file as it is at its head"},
		{name: "pr says", pull: true, usage: "TEXT...", min: 1, max: -1, readOnly: always, run: (*script).runPRSays, see: (*renderer).seePullSays, seeNot: true,
			help: "its title or its body has the texts"},
		{name: "pr label", pull: true, usage: "NAME", min: 1, max: 1, readOnly: always, run: (*script).runPRLabel, see: sees("The pull request has the label `{0}`."),
			help: "it has the label"},
		{name: "pr promotes", pull: true, usage: "REPO COMMIT", min: 2, max: 2, readOnly: always, run: (*script).runPRPromotes, see: (*renderer).seePullPromotes, seeNot: true,
			help: "with it, .github/tracking/Promoted_Commit_Id has the commit of REPO or one that contains it; it has the label promoted if it changes that file, and otherwise not"},
		{name: "pr open", pull: true, readOnly: always, run: (*script).runPROpen, see: sees("The pull request is open."),
			help: "it is open"},
		{name: "pr merged", pull: true, readOnly: always, run: (*script).runPRMerged, see: (*renderer).seePullMerged, do: hidden,
			help: "it is merged; sets $MERGE_COMMIT"},
		{name: "pr merge", pull: true, run: (*script).runPRMerge, do: (*renderer).doPullMerge,
			help: "merge it, unless it is merged already"},

		{name: "issue open", usage: "REPO TITLE [TEXT...]", min: 2, max: -1, readOnly: always, run: (*script).runIssueOpen, see: (*renderer).seeIssueOpen,
			help: "exactly one issue with the title is open, and its body has the texts"},
		{name: "issue closed", usage: "REPO TITLE", min: 2, max: 2, readOnly: always, run: (*script).runIssueClosed, see: sees("`{org}/{0}/issues?state=closed` has the issue *{1}*: it is closed."),
			help: "there was such an issue, and it is closed"},
		{name: "issue count", usage: "REPO NUMBER", min: 2, max: 2, readOnly: always, run: (*script).runIssueCount, see: sees("The number of open issues in `{org}/{0}/issues` is {1}."),
			help: "so many issues are open, whatever their titles"},
		{name: "status", usage: "REPO COMMIT CONTEXT STATE [DESCRIPTION]", min: 4, max: 5, readOnly: always, run: (*script).runStatus, see: (*renderer).seeStatus,
			help: "the latest status, in a context, of the commit or of one by which the default branch has gone on from it"},
		{name: "workflow run", usage: "REPO FILE BRANCH [INPUT=VALUE...]", min: 3, max: -1, run: (*script).runWorkflowRun, do: (*renderer).doWorkflowRun,
			help: "start a workflow, unless it has succeeded or is running for the branch's newest commit; sets $COMMIT to that"},
		{name: "workflow wait", usage: "REPO FILE COMMIT|BRANCH DURATION [CONCLUSION]", min: 4, max: 5, readOnly: always, run: (*script).runWorkflowWait, see: (*renderer).seeWorkflowWait, do: (*renderer).doWorkflowWait,
			help: "wait until the latest run for the commit or one by which the default branch has gone on from it, or for the branch's newest one, has ended with success, or with CONCLUSION. When it ends otherwise, the reason has the run's address and the last lines of the failed jobs"},

		{name: "kubectl", usage: "ARGUMENT...", min: 1, max: -1, readOnly: kubectlReadOnly, run: (*script).kubectl, see: seeProgram("kubectl"), seeNot: true, do: doProgram("kubectl"),
			help: "the sandbox's kubectl; get, describe, logs, wait and the like change nothing"},
		{name: "az", usage: "ARGUMENT...", min: 1, max: -1, readOnly: azReadOnly, run: (*script).runAz, see: seeProgram("az"), seeNot: true, do: doProgram("az"),
			help: "Azure's commands, by the sandbox's own az; show, list and query change nothing. An argument '$TOKEN' stands for @FILE with a file that has the user's token: it is in no variable, no log and no list of processes"},
		{name: "kalypso", usage: "ARGUMENT...", min: 1, max: -1, readOnly: kalypsoReadOnly, run: (*script).runKalypso, see: seeProgram("kalypso"), seeNot: true, do: doProgram("kalypso"),
			help: "our own commands; status, plan, explain, get, validate and the like change nothing"},
		{name: "http get", usage: "[--context CLUSTER] NAMESPACE svc/NAME PORT PATH [TEXT...]", min: 4, max: -1, readOnly: always, run: (*script).runHTTPGet, see: (*renderer).seeHTTP,
			help: "get a page through kubectl port-forward; each text is all that an element of the page holds, or a JSON string of it, or the whole page"},

		{name: "same-yaml", usage: "FILE WANTED", min: 2, max: 2, readOnly: always, run: (*script).runSameYAML, see: (*renderer).seeSameYAML, seeNot: true,
			help: "both files hold the same objects, field for field; \"stdout\" is what the last command of the section printed"},
		{name: "has-fields", usage: "WANTED... [FLAG...]", min: 1, max: -1, readOnly: always, run: (*script).runHasFields, see: (*renderer).seeFields,
			help: "the cluster has every object of the files, with every field that the files give; flags are kubectl's, such as --context"},
		{name: "says", usage: "TEXT COMMAND...", min: 2, max: -1, readOnly: saysReadOnly, run: (*script).runSays,
			help: "run a command, and find the text in what it prints"},
		{name: "eventually", usage: "DURATION COMMAND...", min: 2, max: -1, readOnly: always, run: (*script).runEventually,
			help: "try a command that changes nothing, until it succeeds"},
		{name: "measure", usage: "NAME since push|merge", min: 3, max: 3, readOnly: always, run: (*script).runMeasure, see: (*renderer).seeNothing, do: hidden,
			help: "note the time that has passed since the last push or merge; without one in this run there is nothing to measure. What was waited for is seen up to 0.1 s, and for the cluster one run of kubectl, later than it is there"},
	}
}

// hidden is for commands that do nothing that a user does.
func hidden(*renderer, []string) {}

// Reference is the manual of the commands: each with its arguments, and below it
// what it does.
func Reference() string {
	var b strings.Builder
	for _, c := range commands() {
		b.WriteString(strings.TrimSpace(c.name+" "+c.usage) + "\n" + wrap(c.help, 80, "    ", "    "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isReadOnly says whether a line with this command changes nothing.
func (c command) isReadOnly(line []string) bool {
	return c.readOnly != nil && c.readOnly(line[len(strings.Fields(c.name)):])
}

// unmetError says that a check was made and that things are not as it wants
// them. Every other error means that it could not be made.
type unmetError struct{ error }

func unmet(format string, args ...any) error { return &unmetError{fmt.Errorf(format, args...)} }

// testscriptCommands are the commands in the form that testscript takes them.
func (s *script) testscriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for _, c := range commands() {
		name, _, _ := strings.Cut(c.name, " ")
		all[name] = func(ts *testscript.TestScript, negated bool, args []string) {
			s.ts = ts
			line := append([]string{name}, args...)
			s.commandEvent(scenarios.CommandBegins, line, "")
			err := s.call(line, negated)
			s.commandError = err
			s.commandEvent(scenarios.CommandEnds, line, s.ran.String()+s.stdout.String()+s.stderr.String())
			if s.ran.Len() > 0 {
				ts.Logf("%s", s.ran.String())
			}
			// a command that prints nothing leaves the last output as it is
			if s.stdout.Len()+s.stderr.Len() > 0 {
				fmt.Fprint(ts.Stdout(), s.stdout.String())
				fmt.Fprint(ts.Stderr(), s.stderr.String())
			}
			ts.Check(err)
		}
	}
	return all
}

// call runs a command with its arguments.
func (s *script) call(line []string, negated bool) error {
	s.ran.Reset()
	s.stdout.Reset()
	s.stderr.Reset()
	c, args, err := findCommand(line)
	if err != nil {
		return err
	}
	if negated && !c.isReadOnly(line) {
		return fmt.Errorf("%s cannot be negated: it changes something", c.name)
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if negated {
		// what must not hold is not waited for, now or later
		defer func(waits bool, wanted *pullQuery) { s.waits, s.wanted = waits, wanted }(s.waits, s.wanted)
		s.waits = false
	}
	if c.pull {
		err = s.current()
	}
	if err == nil {
		err = c.run(s, args)
	}
	if !negated {
		return err
	}
	var not *unmetError
	switch {
	case err == nil:
		return unmet("this holds, and should not: %s", shellWords(line))
	case errors.As(err, &not):
		return nil
	}
	return err
}

func findCommand(line []string) (command, []string, error) {
	var usages []string
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if line[0] != name[0] {
			continue
		}
		usages = append(usages, strings.TrimSpace(c.name+" "+c.usage))
		if len(line) < len(name) || strings.Join(line[:len(name)], " ") != c.name {
			continue
		}
		if args := line[len(name):]; len(args) >= c.min && (c.max < 0 || len(args) <= c.max) {
			return c, args, nil
		}
	}
	if usages == nil {
		return command{}, nil, fmt.Errorf("there is no command %q", line[0])
	}
	return command{}, nil, fmt.Errorf("usage: %s", strings.Join(usages, " | "))
}

// saysReadOnly is that of the command whose output is wanted.
func saysReadOnly(args []string) bool {
	c, _, err := findCommand(args[1:])
	return err == nil && c.isReadOnly(args[1:])
}

// runSays runs a command and finds a text in what it prints.
func (s *script) runSays(args []string) error {
	text, line := args[0], args[1:]
	if err := s.call(line, false); err != nil {
		return err
	}
	if said := s.stdout.String(); !strings.Contains(said, text) {
		return unmet("%s does not say %q, but %q", line[0], text, strings.TrimSpace(said))
	}
	return nil
}

// runLook is for a misspelled line: sections are read before the script runs.
func (s *script) runLook(args []string) error {
	return fmt.Errorf("usage: look [(holds before)], and not look %s", strings.Join(args, " "))
}

// runNothing is for lines that are read before the script runs.
func (s *script) runNothing([]string) error { return nil }
