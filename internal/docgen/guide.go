// Package docgen makes the workshop guides in docs from the scenarios. `make docs`
// writes them.
package docgen

import (
	"bytes"
	_ "embed" // for the introduction
	"fmt"
	"strings"
	"text/template"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/kalypso-dev/kalypso/workshop"
)

//go:embed guide_intro.md.tmpl
var guideIntro string

// guideOrg is what a guide writes for the address of the forge's organisation.
// Its introduction says how a shell gets it.
const guideOrg = "$FORGE"

// Guide is the guide of a workshop, in Markdown: an introduction, then each
// scenario as a chapter that a reader does by hand, in a browser and a terminal.
// A command that has no form for a reader is an error, so that no step is lost.
func Guide(w *workshop.Workshop) (string, error) {
	library, err := scenarios.Of(w)
	if err != nil {
		return "", err
	}
	infos, err := library.List()
	if err != nil {
		return "", err
	}
	g := &guide{}
	if err := g.intro(w, infos); err != nil {
		return "", err
	}
	for i, info := range infos {
		page, err := engine.NewPage(library, info.Name, engine.PageOptions{OrgURL: guideOrg, Sequential: true})
		if err != nil {
			return "", err
		}
		if err := g.chapter(i+1, info, page); err != nil {
			return "", fmt.Errorf("guide of %s, scenario %s: %w", w.Name, info.Name, err)
		}
	}
	return strings.TrimRight(g.text.String(), "\n") + "\n", nil
}

var reconcilers = map[workshop.Reconciler]string{workshop.Flux: "Flux", workshop.ArgoCD: "Argo CD"}

// ScenarioCommands is the page about the lines of a scenario, in Markdown.
func ScenarioCommands() string {
	return "<!-- Made by `make docs` from scenarios/engine/commands.go. Change that, not this page. -->\n\n# Commands of scenarios\n\n" +
		"What the lines of a scenario's file mean. `kalypso help scenario-commands` prints the same.\n\n```text\n" + strings.TrimSpace(engine.Reference()) + "\n```\n"
}

type guide struct{ text strings.Builder }

// part writes a paragraph, a heading, a list or a block of code.
func (g *guide) part(format string, args ...any) {
	if text := strings.TrimRight(fmt.Sprintf(format, args...), "\n"); text != "" {
		g.text.WriteString(text + "\n\n")
	}
}

// intro is what comes before the first chapter.
func (g *guide) intro(w *workshop.Workshop, infos []scenarios.Info) error {
	var clusters []string
	for _, c := range w.Clusters {
		clusters = append(clusters, fmt.Sprintf("`%s` with %s", c.Name, reconcilers[c.Reconciler]))
	}
	parsed, err := template.New("guide").Funcs(template.FuncMap{
		"chapter": func(i int, info scenarios.Info) string { return chapterTitle(i+1, info) },
		"anchor":  func(i int, info scenarios.Info) string { return anchor(chapterTitle(i+1, info)) },
	}).Parse(guideIntro)
	if err != nil {
		return fmt.Errorf("introduction of guides: %w", err)
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, map[string]any{"Workshop": w, "Clusters": strings.Join(clusters, " and "), "Chapters": infos, "First": infos[0].Name})
	if err != nil {
		return fmt.Errorf("introduction of guides: %w", err)
	}
	g.part("%s", strings.TrimSpace(b.String()))
	return nil
}

func (g *guide) chapter(number int, info scenarios.Info, page *engine.Page) error {
	g.part("## %s", chapterTitle(number, info))
	g.part("*You are the %s. In the tutorial: %s.*", info.Persona, info.Follows)
	if len(info.Needs) > 0 {
		g.part("*It builds on `%s`.*", strings.Join(info.Needs, "` and `"))
	}
	g.part("%s", info.Explanation)
	if info.Apart {
		g.part("Do this last: it ends what the other chapters build on.")
	}
	g.part("`kalypso scenario learn %s` goes through this chapter with you.", info.Name)
	for i, step := range info.Steps {
		do, see, err := page.Step(i)
		if err != nil {
			return fmt.Errorf("step %q: %w", step.Title, err)
		}
		g.part("### %d.%d %s", number, i+1, step.Title)
		g.part("%s", step.Explanation)
		if len(step.RealPods) > 0 {
			g.part("*This needs pods that really run on %s; `kalypso doctor` says whether they do.*", strings.Join(step.RealPods, " and "))
		}
		if len(step.Hints) > 0 {
			g.part("<details><summary>Hints, to find it out yourself</summary>\n\n- %s\n\n</details>", strings.Join(step.Hints, "\n- "))
		}
		if do != "" {
			g.part("**Do**")
			g.part("%s", do)
		}
		if see != "" {
			g.part("**See**")
			g.part("%s", see)
		}
	}
	return nil
}

func chapterTitle(number int, info scenarios.Info) string {
	return fmt.Sprintf("%d. %s", number, info.Title)
}

// anchor is the fragment by which GitHub's pages link to a heading.
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
