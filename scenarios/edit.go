package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func (s *script) wordWrite(args []string) error {
	content, err := s.read(args[0])
	if err != nil {
		return err
	}
	dest := s.ts.MkAbs(args[1])
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return err
	}
	s.written = append(s.written, dest)
	return os.WriteFile(dest, content, 0o666)
}

// wordEdit replaces a block of lines. A file that has the new one already, and
// not the old one, stays as it is.
func (s *script) wordEdit(args []string) error {
	var texts [3]string
	for i, name := range args {
		b, err := s.read(name)
		if err != nil {
			return err
		}
		texts[i] = string(b)
	}
	content, before, after := texts[0], texts[1], texts[2]
	dest := s.ts.MkAbs(args[0])
	s.written = append(s.written, dest)
	if before == "" {
		return fmt.Errorf("%s is empty", args[1])
	}
	switch n := strings.Count(content, before); {
	case n == 1:
		return os.WriteFile(dest, []byte(strings.Replace(content, before, after, 1)), 0o666)
	case n > 1:
		return fmt.Errorf("%s has the lines of %s %d times", args[0], args[1], n)
	case strings.Contains(content, after):
		return nil
	}
	return fmt.Errorf("%s does not have the lines of %s", args[0], args[1])
}

// prints notes, in a person's words, what it is that a word has printed.
func (s *script) prints(format string, args ...any) {
	s.printed.what, s.printed.text = fmt.Sprintf(format, args...), s.stdout.String()
}

// nameOf names a file for a person. They know what they see on the forge, and
// nothing of "stdout".
func (s *script) nameOf(file string) string {
	// one of testscript's own words may have printed something since
	if file == "stdout" && s.printed.what != "" && s.printed.text == s.ts.ReadFile("stdout") {
		return s.printed.what
	}
	return file
}

// read returns a file's content, or what the last command printed.
func (s *script) read(file string) ([]byte, error) {
	if file == "stdout" || file == "stderr" {
		return []byte(s.ts.ReadFile(file)), nil
	}
	b, err := os.ReadFile(s.ts.MkAbs(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", file)
	}
	return b, err
}
