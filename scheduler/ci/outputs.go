package ci

import (
	"fmt"
	"os"
	"strings"
)

// Outputs writes what later steps need to the file that GITHUB_OUTPUT names,
// one NAME=VALUE a line. Without a file nothing is written: the log has it all.
type Outputs struct{ File string }

// Set adds an output. What has several lines is refused: it would need a
// delimiter, and none of the verbs has such an output.
func (o Outputs) Set(name, value string) error {
	if strings.ContainsAny(value, "\r\n") {
		return fmt.Errorf("output %s has several lines: %q", name, value)
	}
	if o.File == "" {
		return nil
	}
	f, err := os.OpenFile(o.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the file that GITHUB_OUTPUT names: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s=%s\n", name, value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("output %s: %w", name, err)
	}
	return nil
}
