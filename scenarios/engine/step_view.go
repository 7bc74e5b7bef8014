package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// StepView is a step as data, for any renderer: what it is about, and what is to be
// reached or seen. What there is to do is asked for apart, by [Page.ToDo].
type StepView struct {
	Title   string
	Reading bool // there is nothing to do but to look
	Blocks  []Block
	Hints   int
	// Solvable is set when the step can be done for the user.
	Solvable bool
}

// Block is a piece of a page.
type Block struct {
	Kind  BlockKind
	Spans []Span // of text, a label or an item
	Code  string // of code, a command or a diff
	// Language of code, such as yaml; "" for none.
	Language string
	// Line is that of the scenario whose check makes an item hold; 0 for none.
	Line int
	// File is what the reader has at a path when the step is done, to be had by
	// [Page.File]; "" for none.
	File, Path string
}

// BlockKind is a kind of Block.
type BlockKind string

const (
	LabelBlock   BlockKind = "label" // a short line of its own, such as "To do"
	TextBlock    BlockKind = "text"
	ItemBlock    BlockKind = "item"    // of a list
	CommandBlock BlockKind = "command" // lines for a shell
	DiffBlock    BlockKind = "diff"
	CodeBlock    BlockKind = "code" // belongs to the item before, if there is one
)

// Span is a part of a text.
type Span struct {
	Text   string
	Code   bool   // it is spelled exactly so
	Strong bool   // such as the name of a button
	URL    string // where it leads; "" for nowhere
}

// Intro is what a reader knows before the first step.
func (p *Page) Intro() []Block { return views(p.intro()[1:]) } // the title is that of Info

// Steps are the steps in their order.
func (p *Page) Steps() []StepView {
	all := make([]StepView, len(p.Info.Steps))
	for i, step := range p.Info.Steps {
		all[i] = StepView{
			Title: step.Title, Reading: step.Reading, Hints: len(step.Hints), Solvable: step.Has(scenarios.Solve),
			Blocks: views(p.task(i, 0)[1:]), // without the title
		}
	}
	return all
}

// ToDo is what a step has the user do; nothing for one that is only looked at.
func (p *Page) ToDo(i int) []Block {
	if !p.Info.Steps[i].Has(scenarios.Solve) {
		return nil
	}
	return views(p.toDo(i))
}

// Hint is one of a step's hints, from 0.
func (p *Page) Hint(i, n int) []Block {
	return views([]block{{kind: paragraph, text: p.Info.Steps[i].Hints[n]}})
}

// File is a file that a step has the user write, by its name in the scenario. It is
// false for any other.
func (p *Page) File(name string) (content string, ok bool) {
	content, ok = p.files[name]
	return content, ok && slices.ContainsFunc(p.Info.Steps, func(step scenarios.StepInfo) bool {
		return slices.ContainsFunc(step.Sections[scenarios.Solve], func(l scenarios.Line) bool {
			args := splitLine(l.Text)
			return len(args) == 3 && args[0] == "write" && args[1] == name || len(args) == 4 && args[0] == "edit" && args[3] == name
		})
	})
}

func views(blocks []block) []Block {
	all := make([]Block, 0, len(blocks))
	for _, b := range blocks {
		v := Block{Line: b.line, File: b.file, Path: b.path}
		switch b.kind {
		case code, itemCode:
			v.Kind, v.Code, v.Language = CodeBlock, strings.TrimRight(b.text, "\n"), b.lang
			switch b.lang {
			case "sh":
				v.Kind = CommandBlock
			case "diff":
				v.Kind = DiffBlock
			}
		case title, heading, label:
			v.Kind, v.Spans = LabelBlock, spans(b.text)
		case item:
			v.Kind, v.Spans = ItemBlock, spans(b.text)
		default:
			v.Kind, v.Spans = TextBlock, spans(b.text)
		}
		all = append(all, v)
	}
	return all
}

// marked finds what a text has in marks of Markdown: code, and what is strong.
var marked = regexp.MustCompile("`([^`]+)`|\\*\\*([^*]+)\\*\\*|\\*([^* ][^*]*)\\*")

func spans(text string) []Span {
	var all []Span
	plain := func(text string) {
		if text != "" {
			all = append(all, Span{Text: text})
		}
	}
	end := 0
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		plain(text[end:m[0]])
		end = m[1]
		if m[2] < 0 {
			from, to := max(m[4], m[6]), max(m[5], m[7])
			all = append(all, Span{Text: text[from:to], Strong: true})
			continue
		}
		s := Span{Text: text[m[2]:m[3]], Code: true}
		if strings.HasPrefix(s.Text, "http://") || strings.HasPrefix(s.Text, "https://") {
			s.URL = s.Text
		}
		all = append(all, s)
	}
	plain(text[end:])
	return all
}
