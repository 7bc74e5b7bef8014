package cmdutil

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colours words on a terminal; elsewhere, and with NO_COLOR, it leaves
// them as they are (no-color.org).
type Style struct {
	Terminal bool
	Colour   bool
}

func NewStyle(w io.Writer) Style {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return Style{Terminal: terminal, Colour: terminal && os.Getenv("NO_COLOR") == ""}
}

func (s Style) Paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) Good(t string) string  { return s.Paint("32", t) }
func (s Style) Warn(t string) string  { return s.Paint("33", t) }
func (s Style) Bad(t string) string   { return s.Paint("31", t) }
func (s Style) Faint(t string) string { return s.Paint("2", t) }
func (s Style) Bold(t string) string  { return s.Paint("1", t) }
