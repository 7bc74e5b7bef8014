package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/rogpeppe/go-internal/txtar"
)

// Page is a scenario for a reader: what is written in it, and its commands in
// the form in which a user does them and sees what they have done.
type Page struct {
	Info scenarios.Info
	PageOptions
	files  map[string]string
	cloned map[string]bool // by earlier chapters
}

// PageOptions say who reads a page.
type PageOptions struct {
	OrgURL string // of the forge's organisation; "" is $ORG_URL
	// Sequential is set when the reader has done all earlier chapters in the
	// same folder.
	Sequential bool
}

// NewPage reads a scenario for a reader. An unknown one is a
// [scenarios.UnknownError].
func NewPage(library scenarios.Library, name string, o PageOptions) (*Page, error) {
	text, err := library.Source(name)
	if err != nil {
		return nil, err
	}
	p := newPage(scenarios.Parse(library.Workshop, name, text), text, library, o)
	ordered := library.Ordered
	if here := slices.Index(ordered, name); here >= 0 {
		ordered = ordered[:here]
	}
	for _, earlier := range ordered {
		info, err := library.Get(earlier)
		if err != nil {
			return nil, err
		}
		for _, step := range info.Steps {
			for _, l := range step.Sections[scenarios.Solve] {
				if args := splitLine(l.Text); len(args) > 0 && args[0] == "clone" {
					p.cloned[cloneFolder(args[1:])] = true
				}
			}
		}
	}
	return p, nil
}

func newPage(info scenarios.Info, text []byte, library scenarios.Library, o PageOptions) *Page {
	if o.OrgURL == "" {
		o.OrgURL = "$ORG_URL"
	}
	addresses := library.Replacer(o.OrgURL)
	p := &Page{Info: info, PageOptions: o, files: map[string]string{}, cloned: map[string]bool{}}
	for _, f := range txtar.Parse(text).Files {
		p.files[f.Name] = string(addresses.Replace(f.Data))
	}
	return p
}

// block is a piece of a page.
type block struct {
	kind blockKind
	text string
	lang string // of code
	line int    // of the scenario, of what there is to see
	file string // of the scenario, that the reader writes to path
	path string
}

type blockKind int

const (
	title blockKind = iota
	heading
	label // a short line of its own, such as "To do"
	paragraph
	item
	code
	itemCode // belongs to the item before
	hint
)

// Step is what a step has a reader do and see, in Markdown. A command that has
// no form for a reader is an error.
func (p *Page) Step(i int) (do, see string, err error) {
	r := p.rendererAt(i)
	do, see = markdown(r.actions(p.Info.Steps[i])), markdown(r.outcome(p.Info.Steps[i]))
	return do, see, r.err
}

// Markdown is the whole page.
func (p *Page) Markdown() string {
	parts := []string{markdown(p.intro())}
	add := func(title, text string) {
		if text != "" {
			parts = append(parts, "**"+title+"**\n\n"+text)
		}
	}
	for i, step := range p.Info.Steps {
		do, see, _ := p.Step(i) // what has no form is in the text as it is written
		parts = append(parts, markdown(p.head(i)))
		if first := markdown(p.credentials(i)); first != "" {
			do = first + "\n" + do
		}
		add("To do", do)
		add(map[bool]string{true: "To see", false: "Then"}[step.Reading], see)
		if needs := markdown(p.needs(i)); needs != "" {
			parts = append(parts, needs)
		}
		if len(step.Hints) > 0 {
			parts = append(parts, markdown(hints(step)))
		}
	}
	return strings.Join(parts, "\n")
}

// Terminal is the whole page for a terminal of that width; 0 is 80. paint
// colours a part by its kind, "title" or "label", and may be nil.
func (p *Page) Terminal(width int, paint func(kind, text string) string) string {
	all := p.intro()
	for i, step := range p.Info.Steps {
		all = append(all, p.step(i)...)
		all = append(all, hints(step)...)
	}
	return terminal(all, width, paint) + "\n"
}

// rendererAt has rendered the steps before one: what they have shown is not
// shown again.
func (p *Page) rendererAt(i int) *renderer {
	r := newRenderer(p)
	for _, step := range p.Info.Steps[:i] {
		r.actions(step)
		r.outcome(step)
	}
	r.err = nil
	return r
}

func hints(step scenarios.StepInfo) []block {
	var all []block
	for n, h := range step.Hints {
		all = append(all, block{kind: hint, text: h, lang: fmt.Sprintf("Hint %d", n+1)})
	}
	return all
}

func (p *Page) intro() []block {
	return append([]block{
		{kind: title, text: p.Info.Title},
		{kind: paragraph, text: fmt.Sprintf("You are the %s. Tutorial: %s.%s", p.Info.Persona, p.Info.Follows, p.buildsOn())},
	}, paragraphs(p.Info.Explanation)...)
}

func (p *Page) buildsOn() string {
	if len(p.Info.Needs) == 0 {
		return ""
	}
	return fmt.Sprintf(" It builds on `%s`.", strings.Join(p.Info.Needs, "` and `"))
}

// step is a step without its hints.
func (p *Page) step(i int) []block {
	step := p.Info.Steps[i]
	r := p.rendererAt(i)
	if step.Reading {
		return slices.Concat(p.head(i), labelled("To see", r.outcome(step)), p.needs(i))
	}
	return slices.Concat(p.head(i), labelled("To do", p.credentials(i), r.actions(step)), labelled("Then", r.outcome(step)), p.needs(i))
}

// task is a step for a user who wants to find out what to do: it says what is to
// be reached. What is so already, by the lines of the check before one, is no goal.
func (p *Page) task(i, before int) []block {
	step := p.Info.Steps[i]
	if step.Reading {
		return p.step(i)
	}
	r := p.rendererAt(i)
	r.actions(step)
	so, goals := r.outcomeAround(step, before)
	return slices.Concat(p.head(i), labelled("So already", so), labelled("To reach", goals), p.credentials(i), p.needs(i))
}

// toDo is what a step has the user do.
func (p *Page) toDo(i int) []block {
	return labelled("To do", p.credentials(i), p.rendererAt(i).actions(p.Info.Steps[i]))
}

func (p *Page) head(i int) []block {
	step := p.Info.Steps[i]
	return append([]block{{kind: heading, text: fmt.Sprintf("Step %d of %d: %s", i+1, len(p.Info.Steps), step.Title)}},
		paragraphs(step.Explanation)...)
}

func (p *Page) needs(i int) []block {
	if clusters := p.Info.Steps[i].RealPods; len(clusters) > 0 {
		return []block{{kind: paragraph, text: fmt.Sprintf("This needs pods that really run on %s.", strings.Join(clusters, " and "))}}
	}
	return nil
}

// credentials says, where the page pushes for the first time, what git will ask.
func (p *Page) credentials(i int) []block {
	pushes := func(step scenarios.StepInfo) bool {
		return slices.ContainsFunc(step.Sections[scenarios.Solve], func(l scenarios.Line) bool { return strings.HasPrefix(l.Text, "push ") })
	}
	if slices.IndexFunc(p.Info.Steps, pushes) != i {
		return nil
	}
	return []block{{kind: paragraph, text: "At the push, git asks for user and password. They are the first ones that `kalypso credentials` prints."}}
}

func labelled(text string, parts ...[]block) []block {
	all := slices.Concat(parts...)
	if len(all) == 0 {
		return nil
	}
	return append([]block{{kind: label, text: text}}, all...)
}

func paragraphs(explanation string) []block {
	var all []block
	for text := range strings.SplitSeq(explanation, "\n\n") {
		if text != "" {
			all = append(all, block{kind: paragraph, text: text})
		}
	}
	return all
}

func markdown(blocks []block) string {
	var b strings.Builder
	inList := false
	for i, block := range blocks {
		if i > 0 && !(block.kind == item && inList) {
			b.WriteString("\n")
		}
		inList = block.kind == item || block.kind == itemCode
		fenced := "```" + block.lang + "\n" + strings.TrimRight(block.text, "\n") + "\n```"
		switch block.kind {
		case title:
			fmt.Fprintf(&b, "# %s\n", block.text)
		case heading:
			fmt.Fprintf(&b, "## %s\n", block.text)
		case label:
			fmt.Fprintf(&b, "**%s**\n", block.text)
		case paragraph:
			fmt.Fprintf(&b, "%s\n", block.text)
		case item:
			fmt.Fprintf(&b, "- %s\n", block.text)
		case itemCode:
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(fenced, "\n", "\n  "))
		case code:
			fmt.Fprintf(&b, "%s\n", fenced)
		case hint:
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n%s\n\n</details>\n", block.lang, block.text)
		}
	}
	return b.String()
}

func terminal(blocks []block, width int, paint func(kind, text string) string) string {
	width = textWidth(width)
	if paint == nil {
		paint = func(_, text string) string { return text }
	}
	var b strings.Builder
	for i, block := range blocks {
		if i > 0 && block.kind != item {
			b.WriteString("\n")
		}
		text := strings.NewReplacer("`", "", "**", "").Replace(block.text)
		switch block.kind {
		case title, heading:
			b.WriteString(paint("title", text) + "\n")
		case label:
			b.WriteString(paint("label", text+":") + "\n")
		case item:
			b.WriteString(wrap(text, width, "  - ", "    "))
		case code, itemCode:
			for line := range strings.SplitSeq(strings.TrimRight(block.text, "\n"), "\n") {
				b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
			}
		case hint:
			b.WriteString(wrap(block.lang+": "+text, width, "  ", "  "))
		default:
			b.WriteString(wrap(text, width, "", ""))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// textWidth is how wide a text is on a terminal of a width: no wider than is read well.
func textWidth(terminal int) int {
	if terminal <= 0 || terminal > 100 {
		return 80
	}
	return terminal
}

// wrap breaks a text into lines.
func wrap(text string, width int, first, next string) string {
	var b strings.Builder
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return b.String() + line + "\n"
}
