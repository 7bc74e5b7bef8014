package yamlpos

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// InText returns where a byte of a scalar's value stands in the content of its
// file, for messages about a text that has a language of its own. White space that
// folding has changed counts for the character behind it. Where the value cannot be
// found in the content it is the scalar's own position.
func InText(content []byte, scalar *yaml.Node, index int) (line, column int) {
	lines := bytes.Split(content, []byte("\n"))
	if scalar.Line > len(lines) || index > len(scalar.Value) {
		return scalar.Line, scalar.Column
	}
	if scalar.Style&yaml.LiteralStyle != 0 {
		return inLiteral(lines, scalar, index)
	}
	begin := scalar.Line // of the lines, from 0: a folded text begins below its mark
	row := []byte(nil)
	if scalar.Style&yaml.FoldedStyle == 0 {
		begin--
		row = skipRunes(lines[begin], scalar.Column-1)
		if scalar.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			row = row[min(1, len(row)):]
		}
	} else if begin < len(lines) {
		row = lines[begin]
	}
	wanted := strings.Join(strings.Fields(scalar.Value[:index]), "")
	for i := begin; i < len(lines); i, row = i+1, next(lines, i) {
		for len(row) > 0 {
			r, size := character(row, scalar.Style)
			if unicode.IsSpace(r) {
				row = row[size:]
				continue
			}
			if wanted == "" {
				return i + 1, utf8.RuneCount(lines[i][:len(lines[i])-len(row)]) + 1
			}
			first, width := utf8.DecodeRuneInString(wanted)
			if first != r && r != anyRune {
				return scalar.Line, scalar.Column
			}
			row, wanted = row[size:], wanted[width:]
		}
	}
	return scalar.Line, scalar.Column
}

func next(lines [][]byte, i int) []byte {
	if i+1 < len(lines) {
		return lines[i+1]
	}
	return nil
}

func skipRunes(line []byte, n int) []byte {
	for ; n > 0 && len(line) > 0; n-- {
		_, size := utf8.DecodeRune(line)
		line = line[size:]
	}
	return line
}

// inLiteral finds a byte of a text whose lines stand in the file as they are, but
// for their indentation.
func inLiteral(lines [][]byte, scalar *yaml.Node, index int) (line, column int) {
	before := scalar.Value[:index]
	text, _, _ := strings.Cut(scalar.Value[strings.LastIndex(before, "\n")+1:], "\n")
	i := scalar.Line + strings.Count(before, "\n")
	if i >= len(lines) {
		return scalar.Line, scalar.Column
	}
	row := bytes.TrimSuffix(lines[i], []byte("\r"))
	indent, found := bytes.CutSuffix(row, []byte(text))
	if !found {
		return scalar.Line, scalar.Column
	}
	inLine := len(before) - (strings.LastIndex(before, "\n") + 1)
	return i + 1, utf8.RuneCount(row[:len(indent)+inLine]) + 1
}

// anyRune stands for a character that is written by its number.
const anyRune = -1

// character returns the first character of a scalar's rest, a space for one that is
// white space in the value, and how many bytes it takes in the file.
func character(row []byte, style yaml.Style) (r rune, size int) {
	switch {
	case style&yaml.SingleQuotedStyle != 0 && bytes.HasPrefix(row, []byte("''")):
		return '\'', 2
	case style&yaml.DoubleQuotedStyle != 0 && row[0] == '\\':
		if len(row) == 1 { // the line goes on below
			return ' ', 1
		}
		switch c := row[1]; {
		case c == '"' || c == '\\' || c == '/':
			return rune(c), 2
		case slices.Contains([]byte("xuU"), c):
			return anyRune, min(len(row), map[byte]int{'x': 4, 'u': 6, 'U': 10}[c])
		}
		return ' ', 2
	}
	return utf8.DecodeRune(row)
}
