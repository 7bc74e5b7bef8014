package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// style colours words on a terminal; elsewhere, and with NO_COLOR, it leaves
// them as they are (no-color.org).
type style struct {
	terminal bool
	colour   bool
}

func newStyle(w io.Writer) style {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return style{terminal: terminal, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

func (s style) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) good(t string) string  { return s.paint("32", t) }
func (s style) warn(t string) string  { return s.paint("33", t) }
func (s style) bad(t string) string   { return s.paint("31", t) }
func (s style) faint(t string) string { return s.paint("2", t) }
func (s style) bold(t string) string  { return s.paint("1", t) }
