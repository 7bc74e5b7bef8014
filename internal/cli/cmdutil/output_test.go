package cmdutil

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
)

func TestOutput(t *testing.T) {
	for format, want := range map[string]string{"": "text", "wide": "text", "json": "{\n  \"a\": 1\n}\n", "yaml": "a: 1\n"} {
		var o Output
		c := &cobra.Command{}
		o.AddTo(c, "text", "wide", "json", "yaml")
		if format != "" {
			if err := c.Flags().Set("output", format); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := o.Print(&App{Out: &out}, map[string]int{"a": 1}, func() error { _, err := out.WriteString("text"); return err })
		if out.String() != want || err != nil {
			t.Errorf("%q: %q, %v", format, out.String(), err)
		}
	}
	var o Output
	c := &cobra.Command{}
	o.AddTo(c, "text", "json")
	var mistake *usage.Error
	if err := c.Flags().Set("output", "xml"); !errors.As(err, &mistake) {
		t.Errorf("%v", err)
	}
}
