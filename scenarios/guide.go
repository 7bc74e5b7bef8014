package scenarios

import (
	"fmt"
	"strings"
)

// guideOrg is what a guide writes for the address of the forge's organisation.
// Its introduction says how a shell gets it.
const guideOrg = "$FORGE"

// Guide is the workshop guide of a tutorial, in Markdown: an introduction, then
// each scenario as a chapter that a person does by hand, in a browser and a
// terminal. The words of the scenarios become the commands and clicks that they
// stand for; one that has no such form is an error, so that no step is lost.
//
// Unlike a [Page], which is one scenario by itself, a guide knows what its
// reader has done before: it clones a repository once, and shows a file once.
func Guide(workshop string) (string, error) {
	infos, err := List(workshop)
	if err != nil {
		return "", err
	}
	g := &guide{cloned: map[string]bool{}}
	if err := g.intro(workshop, infos); err != nil {
		return "", err
	}
	for i, info := range infos {
		text, err := Source(workshop, info.Name)
		if err != nil {
			return "", err
		}
		if err := g.chapter(i+1, info, newPage(info, text, guideOrg).files); err != nil {
			return "", fmt.Errorf("guide of %s, scenario %s: %w", workshop, info.Name, err)
		}
	}
	return strings.TrimRight(g.text.String(), "\n") + "\n", nil
}

// guide is one while it is written.
type guide struct {
	text   strings.Builder
	cloned map[string]bool // folders that the reader has
}

// part writes a paragraph, a heading, a list or a block of code.
func (g *guide) part(format string, args ...any) {
	if format == "%s" && args[0] == "" {
		return
	}
	fmt.Fprintf(&g.text, strings.TrimRight(format, "\n")+"\n\n", args...)
}

// chapterTitle is a chapter's heading, and anchor where GitHub's pages put it.
func chapterTitle(number int, info Info) string { return fmt.Sprintf("%d. %s", number, info.Title) }

func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteRune('-')
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
			b.WriteRune(r)
		}
	}
	return "#" + b.String()
}

// chapter is a chapter while it is written: what its steps share.
type chapter struct {
	guide  *guide
	files  map[string]string // of the scenario, by name
	shown  map[string]bool   // files that the reader has seen
	told   map[string]bool   // facts that he has been told
	pull   *pullQuery        // the pull request that it is about
	shell  []string          // lines for the next block of commands
	commit string            // what $COMMIT is, in words
	merge  string            // and what $MERGE_COMMIT is
	branch string            // the branch that the commit is on
}

func (g *guide) chapter(number int, info Info, files map[string]string) error {
	c := &chapter{guide: g, files: files, shown: map[string]bool{}, told: map[string]bool{}}
	g.part("## %s", chapterTitle(number, info))
	g.part("*You are the %s. In the tutorial: %s.*", info.Persona, info.Follows)
	g.part("%s", info.Explanation)
	if info.Apart {
		g.part("Do this last: it ends what the other chapters build on.")
	}
	g.part("`kalypso scenario learn %s` goes through this chapter with you.", info.Name)
	for i, step := range info.Steps {
		g.part("### %d.%d %s", number, i+1, step.Title)
		if err := c.step(step); err != nil {
			return fmt.Errorf("step %q: %w", step.Title, err)
		}
	}
	return nil
}

func (c *chapter) step(step StepInfo) error {
	g := c.guide
	g.part("%s", step.Explanation)
	if len(step.RealPods) > 0 {
		g.part("*This needs pods that really run on %s; `kalypso doctor` says whether they do.*", strings.Join(step.RealPods, " and "))
	}
	if len(step.Hints) > 0 {
		g.part("<details><summary>Hints, to find it out yourself</summary>\n\n- %s\n\n</details>", strings.Join(step.Hints, "\n- "))
	}
	if step.has(solve) {
		g.part("**Do**")
		for _, l := range step.sections[solve] {
			if err := c.do(splitLine(l.text)); err != nil {
				return fmt.Errorf("line %d: %w", l.number, err)
			}
		}
		c.endDeeds()
	}
	s := sights{chapter: c}
	for i, l := range step.sections[step.seen()] {
		s.rest = step.sections[step.seen()][i+1:]
		if err := s.see(splitLine(l.text)); err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	if len(s.items) > 0 {
		g.part("**See**")
		g.part("- %s", strings.Join(s.items, "\n- "))
	}
	return nil
}
