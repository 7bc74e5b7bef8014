package scenarios

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Page is a scenario for people to read: what is written in it, and its words
// in the form in which a person would do and see it.
type Page struct {
	Info   Info
	OrgURL string // of the forge's organisation; "" is $ORG_URL
	files  map[string]string
	had    map[string]bool // clones that the reader can have from earlier chapters
	told   map[string]bool // files that have been shown
	cloned map[string]bool // had, and those of the steps so far
	pushed bool            // a step so far has pushed
}

// NewPage reads a scenario for people.
func NewPage(workshop, name, orgURL string) (*Page, error) {
	return pageIn(library, workshop, name, orgURL)
}

func pageIn(library fs.FS, workshop, name, orgURL string) (*Page, error) {
	text, err := source(library, workshop, name)
	if err != nil {
		return nil, err
	}
	had, err := clonedBefore(library, workshop, name)
	if err != nil {
		return nil, err
	}
	p := newPage(describe(workshop, name, text), text, orgURL)
	p.had = had
	p.begin()
	return p, nil
}

func newPage(info Info, text []byte, orgURL string) *Page {
	p := &Page{Info: info, OrgURL: orgURL, files: map[string]string{}}
	p.begin()
	if p.OrgURL == "" {
		p.OrgURL = "$ORG_URL"
	}
	for _, f := range txtar.Parse(text).Files {
		p.files[f.Name] = strings.ReplaceAll(string(f.Data), placeholder, p.OrgURL)
	}
	return p
}

// begin forgets what has been told.
func (p *Page) begin() {
	p.told, p.cloned, p.pushed = map[string]bool{}, map[string]bool{}, false
	maps.Copy(p.cloned, p.had)
}

// block is a piece of a page.
type block struct {
	kind blockKind
	text string
	lang string // of code
}

type blockKind int

const (
	title blockKind = iota
	heading
	label // a short line of its own, such as "Do"
	paragraph
	item
	code
	hint
)

func (p *Page) intro() []block {
	return append([]block{
		{kind: title, text: p.Info.Title},
		{kind: paragraph, text: fmt.Sprintf("You are the %s. Tutorial: %s.", p.Info.Persona, p.Info.Follows)},
	}, texts(p.Info.Explanation)...)
}

// step is a step without its hints.
func (p *Page) step(i int) []block {
	if p.Info.Steps[i].Reading {
		return slices.Concat(p.head(i), p.outcome(i, "To see"), p.needs(i))
	}
	return slices.Concat(p.head(i), p.toDo(i), p.outcome(i, "Then"), p.needs(i))
}

// task is a step for a person who wants to find out by themselves what to do:
// it says what is to be reached.
func (p *Page) task(i int) []block {
	step := p.Info.Steps[i]
	if step.Reading {
		return p.step(i)
	}
	told := maps.Clone(p.told)
	for _, l := range step.sections[solve] {
		for _, file := range splitLine(l.text)[1:] {
			p.told[file] = true
		}
	}
	goal := p.outcome(i, "To reach")
	p.told = told
	return slices.Concat(p.head(i), goal, p.credentials(step.sections[solve]), p.needs(i))
}

func (p *Page) head(i int) []block {
	step := p.Info.Steps[i]
	return append([]block{{kind: heading, text: fmt.Sprintf("Step %d of %d: %s", i+1, len(p.Info.Steps), step.Title)}},
		texts(step.Explanation)...)
}

func (p *Page) toDo(i int) []block {
	deeds := p.Info.Steps[i].sections[solve]
	return append([]block{{kind: label, text: "To do"}}, slices.Concat(p.credentials(deeds), p.deeds(deeds))...)
}

func (p *Page) outcome(i int, word string) []block {
	step := p.Info.Steps[i]
	seen := p.sights(step.sections[step.seen()])
	if len(seen) == 0 {
		return nil
	}
	return append([]block{{kind: label, text: word}}, seen...)
}

func (p *Page) needs(i int) []block {
	if clusters := p.Info.Steps[i].RealPods; len(clusters) > 0 {
		return []block{{kind: paragraph, text: fmt.Sprintf("This needs pods that really run on %s.", strings.Join(clusters, " and "))}}
	}
	return nil
}

// credentials says, where the page pushes for the first time, what git will ask.
func (p *Page) credentials(deeds []scriptLine) []block {
	if p.pushed || !slices.ContainsFunc(deeds, func(l scriptLine) bool { return strings.HasPrefix(l.text, "push ") }) {
		return nil
	}
	p.pushed = true
	return []block{{kind: paragraph, text: "At the push, git asks for user and password. They are the first ones that `kalypso credentials` prints."}}
}

func (p *Page) all() []block {
	all := p.intro()
	for i, step := range p.Info.Steps {
		all = append(all, p.step(i)...)
		for n, h := range step.Hints {
			all = append(all, block{kind: hint, text: h, lang: fmt.Sprintf("Hint %d", n+1)})
		}
	}
	return all
}

func texts(explanation string) []block {
	var all []block
	for text := range strings.SplitSeq(explanation, "\n\n") {
		if text != "" {
			all = append(all, block{kind: paragraph, text: text})
		}
	}
	return all
}

// Markdown is the whole page, as the workshop guides have it.
func (p *Page) Markdown() string {
	p.begin()
	var b strings.Builder
	before := title
	for i, block := range p.all() {
		if i > 0 && !(block.kind == item && before == item) {
			b.WriteString("\n")
		}
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
		case code:
			fmt.Fprintf(&b, "```%s\n%s\n```\n", block.lang, strings.TrimRight(block.text, "\n"))
		case hint:
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n%s\n\n</details>\n", block.lang, block.text)
		}
		before = block.kind
	}
	return b.String()
}

// Terminal is the whole page for a terminal of that width.
func (p *Page) Terminal(width int, paint func(kind, text string) string) string {
	p.begin()
	return p.terminal(p.all(), width, paint) + "\n"
}

func (p *Page) terminal(blocks []block, width int, paint func(kind, text string) string) string {
	if width <= 0 || width > 100 {
		width = 80
	}
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
		case code:
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
