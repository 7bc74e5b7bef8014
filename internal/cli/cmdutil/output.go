package cmdutil

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// Output is the value of -o: one of a command's formats, the first is the default.
type Output struct {
	format  string
	formats []string
}

// AddTo adds -o to a command.
func (o *Output) AddTo(c *cobra.Command, formats ...string) {
	o.format, o.formats = formats[0], formats
	c.Flags().VarP(o, "output", "o", o.choices())
	CompleteFlag(c, "output", Known(formats...))
}

func (o *Output) choices() string {
	last := len(o.formats) - 1
	return strings.Join(o.formats[:last], ", ") + " or " + o.formats[last]
}

func (o *Output) String() string { return o.format }
func (o *Output) Type() string   { return "string" }

func (o *Output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return usage.Errorf("there is no output %q: choose %s", format, o.choices())
	}
	o.format = format
	return nil
}

// Print prints v as JSON or YAML, or calls text for the other formats.
func (o *Output) Print(a *App, v any, text func() error) error {
	switch o.format {
	case "json":
		return a.PrintJSON(v)
	case "yaml":
		b, err := yaml.Marshal(v)
		if err == nil {
			_, err = io.WriteString(a.Out, redact.Text(string(b)))
		}
		return err
	}
	return text()
}

// PrintJSON prints data for scripts, without the credentials of URLs in it.
func (a *App) PrintJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(a.Out, redact.Text(string(b)))
	}
	return err
}

// Count is a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Style colours words on a terminal; elsewhere, and with NO_COLOR, it leaves
// them as they are (no-color.org).
type Style struct {
	Terminal bool
	Colour   bool
}

// NewStyle is the style for w, plain unless it is a terminal.
func NewStyle(w io.Writer) Style {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return Style{Terminal: terminal, Colour: terminal && os.Getenv("NO_COLOR") == ""}
}

// Paint colours text by an SGR code of ECMA-48.
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
