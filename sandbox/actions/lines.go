package actions

import (
	"strings"
	"unicode/utf8"
)

// maxLine is where a line is broken: the forge takes 64 KiB.
const maxLine = 32 << 10

// lines turns the output of a job into lines, as it comes, with secrets
// hidden. It finds the ends of steps in it: the keeper writes an end into the
// output itself, so that all that a step has written stands before it.
type lines struct {
	mask *mask
	emit func(line string)
	end  func(code string) // of the step whose mark was found

	mark string // what announces an end; a secret of runner and keeper
	rest string // begins no line that is complete yet
	part bool   // rest goes on a line of which a part has been emitted
}

// Write takes output in pieces of any size.
func (l *lines) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, after, found := strings.Cut(l.rest, "\n")
		if !found {
			break
		}
		l.rest = after
		l.line(line)
	}
	for len(l.rest) > maxLine+maxSecret {
		var out string
		before := len(l.rest)
		out, l.rest = l.mask.part(l.rest, false)
		whole := len(out) - begun(out)
		out, l.rest = out[:whole], out[whole:]+l.rest
		if len(l.rest) == before {
			break
		}
		l.pieces(out)
		l.part = true
	}
	return len(p), nil
}

// begun is how many bytes at the end of a text begin a letter whose other bytes
// are still to come.
func begun(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if last := s[len(s)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRuneInString(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// flush emits what stands after the last line's end.
func (l *lines) flush() {
	if l.rest != "" {
		l.line(l.rest)
	}
	l.rest, l.part = "", false
}

func (l *lines) line(line string) {
	text, code, ended := line, "", false
	if l.mark != "" {
		text, code, ended = strings.Cut(line, l.mark)
	}
	text = strings.TrimSuffix(text, "\r")
	if secret, ok := maskCommand(text); ok {
		l.mask.add(secret)
	}
	if text != "" || !ended && !l.part {
		l.pieces(l.mask.hide(text))
	}
	l.part = false
	if ended {
		l.end(strings.TrimSpace(code))
	}
}

// pieces emits a text of any length. Broken letters are replaced, since the
// forge takes UTF-8 only.
func (l *lines) pieces(text string) {
	for len(text) > maxLine {
		cut := maxLine
		for cut > maxLine-4 && text[cut]&0xc0 == 0x80 { // in the middle of a letter
			cut--
		}
		l.emit(strings.ToValidUTF8(text[:cut], "\ufffd"))
		text = text[cut:]
	}
	l.emit(strings.ToValidUTF8(text, "\ufffd"))
}
