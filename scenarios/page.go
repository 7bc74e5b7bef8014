package scenarios

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Page is a scenario for people to read: what is written in it, and its words
// in the form in which a person would do and see it.
type Page struct {
	Info   Info
	OrgURL string // of the forge's organisation; "" is $ORG_URL
	files  map[string]string
	told   map[string]bool // files that have been shown
}

// NewPage reads a scenario for people.
func NewPage(workshop, name, orgURL string) (*Page, error) {
	text, err := source(library, workshop, name)
	if err != nil {
		return nil, err
	}
	return newPage(describe(workshop, name, text), text, orgURL), nil
}

func newPage(info Info, text []byte, orgURL string) *Page {
	p := &Page{Info: info, OrgURL: orgURL, files: map[string]string{}, told: map[string]bool{}}
	if p.OrgURL == "" {
		p.OrgURL = "$ORG_URL"
	}
	for _, f := range txtar.Parse(text).Files {
		p.files[f.Name] = strings.ReplaceAll(string(f.Data), placeholder, p.OrgURL)
	}
	return p
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
	step := p.Info.Steps[i]
	all := []block{{kind: heading, text: fmt.Sprintf("Step %d of %d: %s", i+1, len(p.Info.Steps), step.Title)}}
	all = append(all, texts(step.Explanation)...)
	if step.has(solve) {
		all = append(append(all, block{kind: label, text: "To do"}), p.deeds(step.sections[solve])...)
	}
	if seen := p.sights(step.sections[step.seen()]); len(seen) > 0 {
		word := "Then"
		if step.Reading {
			word = "To see"
		}
		all = append(append(all, block{kind: label, text: word}), seen...)
	}
	if len(step.RealPods) > 0 {
		all = append(all, block{kind: paragraph, text: fmt.Sprintf("This needs pods that really run on %s.", strings.Join(step.RealPods, " and "))})
	}
	return all
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
	p.told = map[string]bool{}
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
	p.told = map[string]bool{}
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
