package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/mattn/go-shellwords"
	"github.com/rhysd/actionlint"
)

// pages are what users read: the README and everything in docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatalf("pages %v, %v", files, err)
	}
	all := map[string]string{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(file, "../../")] = string(text)
	}
	return all
}

var (
	inlineCode = regexp.MustCompile("`(?:bin/)?(kalypso [^`\n]+)`")
	// what comes before a call of kalypso in a line of a shell or workflow
	callBegins = regexp.MustCompile(`(?:^|&& |\|\| |\$\(|"KALYPSO_HOME=\$KALYPSO_HOME" |KALYPSO_ARM_TOKEN=\$token |^run: |^- )(?:bin/)?kalypso `)
	callEnds   = regexp.MustCompile(`\s+(?:&&|\|\||\||>>?\S*|#|\(|;)(?:\s|"|$).*$|\s+>.*$`)
	expression = regexp.MustCompile(`\$\{\{.*?\}\}`)
	lineGoesOn = regexp.MustCompile(`\\\n\s*`)
)

// calls are the command lines of a page that begin with kalypso: in lines of
// their own, in lines of workflows, and within sentences.
func calls(page string) []string {
	var all []string
	page = lineGoesOn.ReplaceAllString(page, " ")
	fenced := false
	for line := range strings.Lines(page) {
		for _, code := range inlineCode.FindAllStringSubmatch(line, -1) {
			all = append(all, code[1])
		}
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			continue
		}
		line = strings.TrimPrefix(strings.TrimSpace(expression.ReplaceAllString(line, "value")), "$ ")
		line = strings.TrimPrefix(strings.TrimPrefix(line, "- "), "run: ")
		begins := callBegins.FindAllStringIndex(line, -1)
		for i, at := range begins {
			end := len(line)
			if i+1 < len(begins) {
				end = begins[i+1][0]
			}
			call := line[at[0]:end]
			call = callEnds.ReplaceAllString(call[strings.Index(call, "kalypso "):], "")
			if strings.Contains(line[at[0]:at[1]], "$(") {
				call, _, _ = strings.Cut(call, ")")
			}
			all = append(all, strings.TrimSpace(call))
		}
	}
	return all
}

// TestDocsCallWhatThereIs proves that the command lines of the documentation
// can be called as printed: every command, flag and number of arguments.
func TestDocsCallWhatThereIs(t *testing.T) {
	for name, page := range pages(t) {
		if name == "docs/scenario-commands.md" {
			continue // its lines are those of scenarios
		}
		all := calls(page)
		if len(all) < 3 {
			t.Errorf("%s has %d calls of kalypso", name, len(all))
		}
		if uncounted := strings.Count(page, "\nkalypso "); len(all) < uncounted {
			t.Errorf("%s has %d lines that begin with kalypso, of which %d were found", name, uncounted, len(all))
		}
		for _, line := range all {
			if err := parses(line); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
}

func parses(line string) error {
	words, err := shellwords.Parse(line)
	if err != nil {
		return err
	}
	root := newRoot(&cmdutil.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.InitDefaultHelpCmd()
	found, args, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := found.ParseFlags(args); err != nil {
		return err
	}
	return found.ValidateArgs(found.Flags().Args())
}

// The check of the documentation is one that can fail.
func TestDocsCheckFindsMistakes(t *testing.T) {
	page := "Say `kalypso frobnicate now` and\n\n    kalypso up && kalypso scenario run --everything >out\n\n" +
		"kalypso is a sentence.\n```sh\nkalypso plan \\\n    --no-such-flag\nFORGE=$(kalypso open a b c) # no\n```\n"
	all := calls(page)
	want := []string{"kalypso frobnicate now", "kalypso up", "kalypso scenario run --everything", "kalypso plan  --no-such-flag", "kalypso open a b c"}
	if strings.Join(all, "|") != strings.Join(want, "|") {
		t.Fatalf("found %q", all)
	}
	for _, line := range all {
		if err := parses(line); (err == nil) != (line == "kalypso up") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestDocsWorkflows holds the workflows of the documentation to GitHub's
// grammar.
func TestDocsWorkflows(t *testing.T) {
	linted := 0
	for name, page := range pages(t) {
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
			if !strings.Contains(block[1], "\njobs:\n") {
				continue
			}
			linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			problems, err := linter.Lint("<stdin>", []byte(block[1]), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Errorf("%s, line %d of the workflow: %s", name, p.Line, p.Message)
			}
			linted++
		}
	}
	if linted < 2 {
		t.Errorf("only %d workflows", linted)
	}
	own, err := filepath.Glob("../../.github/workflows/*.yaml")
	if err != nil || len(own) == 0 {
		t.Fatalf("workflows %v, %v", own, err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.LintFiles(own, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s:%d: %s", p.Filepath, p.Line, p.Message)
	}
}

// Links within the repository lead to files that there are.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for name, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(page, -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(name), l[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestTutorialLines: each command line of the original texts is in the page that says
// what it is here, and leads somewhere.
func TestTutorialLines(t *testing.T) {
	lines, err := os.ReadFile(filepath.Join("testdata", "tutorial-lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]string{}
	for row := range strings.Lines(pages(t)["docs/tutorial-lines.md"]) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(row), `\|`, "\x00"), " | ")
		if len(cells) == 2 {
			line := strings.Trim(strings.TrimPrefix(cells[0], "| "), "`")
			here[strings.ReplaceAll(line, "\x00", "|")] = strings.TrimSuffix(cells[1], " |")
		}
	}
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); here[line] == "" {
			t.Errorf("nothing is said of %s", line)
		}
	}
}
