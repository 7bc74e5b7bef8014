package plan

import "strings"

// What a template makes for a shell is read by whoever the platform made it for,
// as commands or as a file of variables. A workload's text must not end the word
// or the quotes that it stands in. So the result is compared with what it is in
// words: everything that means something to a shell where it stands must be the
// template's.

// checkShell finds a workload's text that means something to a shell.
func (r rendition) checkShell() error {
	if len(r.printed) == 0 {
		return nil
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	worded, err := r.worded(-1)
	if err != nil {
		return err
	}
	want := shellSigns(worded)
	if shellSigns(text) == want {
		return nil
	}
	return r.blame(func(text string) bool { return shellSigns(text) == want })
}

// shellSigns returns the characters of a text that mean something to a shell
// where they stand, in order. It knows words, quotes and comments. What follows
// anything in which these mean something else (a here-document, a substitution
// in quotes) counts unless it is a letter, a digit or the like.
func shellSigns(text string) string {
	var signs strings.Builder
	state := byte(0) // or the quotes that are open, or '*' when that cannot be told
	wordBegins := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		sign := !inShellWord(c)
		switch state {
		case '\'':
			sign = c == '\'' || c == '\n'
			if c == '\'' {
				state = 0
			}
		case '"':
			sign = strings.IndexByte("\"$`\\\n", c) >= 0
			switch {
			case c == '"':
				state = 0
			case c == '$' && (next == '(' || next == '{'), c == '`':
				state = '*'
			case c == '\\' && next != 0:
				signs.WriteByte(c)
				i++
				c, sign = next, !inShellWord(next)
			}
		case 0:
			switch {
			case c == '#' && wordBegins:
				signs.WriteByte(c)
				for i+1 < len(text) && text[i+1] != '\n' {
					i++
				}
				continue
			case c == '\'' || c == '"':
				state = c
			case c == '$' && next == '\'', c == '<' && next == '<', c == '`':
				state = '*'
			case c == '\\' && next != 0:
				signs.WriteByte(c)
				i++
				c, sign = next, !inShellWord(next)
			}
			wordBegins = strings.IndexByte(" \t\n;&|()", c) >= 0
		}
		if sign {
			signs.WriteByte(c)
		}
	}
	return signs.String()
}

// inShellWord says whether a byte is part of a word and nothing else, in every
// place of a word.
func inShellWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80 || strings.IndexByte("_@%+=:,./-", c) >= 0
}
