package main

import (
	"encoding/base64"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func masked(secrets ...string) *mask {
	m := &mask{}
	for _, s := range secrets {
		m.add(s)
	}
	return m
}

func TestMask(t *testing.T) {
	for _, c := range []struct {
		secrets []string
		text    string
		want    string
	}{
		{nil, "nothing", "nothing"},
		{[]string{""}, "nothing", "nothing"},
		{[]string{" \n "}, "a b", "a b"},
		{[]string{"abc"}, "xabcx abc", "x***x ***"},
		{[]string{"abc"}, "abcabc", "******"},
		{[]string{"ab", "abcd"}, "abcde ab", "***e ***"},
		{[]string{"line one\nline two\r\n"}, "see line two, line one", "see ***, ***"},
		{[]string{"p&ss w/rd"}, "p%26ss+w%2Frd p&ss%20w%2Frd", "*** ***"},
		{[]string{`say "hi"`}, `{"s":"say \"hi\""}`, `{"s":"***"}`},
		{[]string{`a"b&c<d`}, `"a\"b&c<d" "a\"b\u0026c\u003cd"`, `"***" "***"`},
		{[]string{"it's & 'so'"}, `+ curl -u 'me:it'\''s & '\''so'\'''`, `+ curl -u 'me:***'`},
		{[]string{"hunter2"}, "aHVudGVyMg==", "***"},
		{[]string{"hunter2secretPW"}, "dXNlcjpodW50ZXIyc2VjcmV0UFc=", "dXNlcjp***c="},
		{[]string{"abcd"}, "YWJjZ ZWJjZA FhYmNk", "YWJjZ ZWJjZA FhYmNk"}, // too little is sure of it
	} {
		if got := masked(c.secrets...).hide(c.text); got != c.want {
			t.Errorf("%q hides %q as %q, want %q", c.secrets, c.text, got, c.want)
		}
	}
}

func TestMaskOfBase64(t *testing.T) {
	for _, secret := range []string{"5char", "hunter2", "hunter2secretPW", "a?>b~~\xff\xfe??>>"} {
		m := masked(secret)
		for _, before := range []string{"", "u", "us", "use", "user:", "x-access-token:"} {
			for _, after := range []string{"", "\n", "@h", "@host"} {
				for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
					text := alphabet.EncodeToString([]byte(before + secret + after))
					left := strings.SplitN(m.hide(text), hidden, 2)
					if len(left) != 2 {
						t.Errorf("%q is shown by %s", secret, text)
						continue
					}
					// at each edge one character may be left, which has a few bits of the secret
					if len(left[0]) > (8*len(before)+5)/6 || len(strings.TrimRight(left[1], "=")) > (8*len(after)+5)/6+1 {
						t.Errorf("%q is hidden as %q", text, left)
					}
				}
			}
		}
	}
}

// printed is what a job's log has after an output.
func printed(t *testing.T, output string, secrets ...string) []string {
	j := &job{}
	for _, s := range secrets {
		j.mask.add(s)
	}
	j.report = newReport(nil, io.Discard, nil, 1, 0, nil)
	j.step = -1
	c, err := openConsole(filepath.Join(t.TempDir(), "console"), func(line string) { j.line(-1, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.pipe.Close()
	if _, err := c.pipe.WriteString(output); err != nil {
		t.Fatal(err)
	}
	c.drain()
	var lines []string
	for _, row := range j.report.rows {
		lines = append(lines, row.Content)
	}
	return lines
}

func TestConsole(t *testing.T) {
	for output, want := range map[string][]string{
		"":                           nil,
		"a":                          {"a"},
		"a\nb\n":                     {"a", "b"},
		"a\r\n\n b \n":               {"a", "", " b "},
		"my secret\n":                {"my ***"},
		"::add-mask::ab%0Acd\nab cd": {"::add-mask::***", "*** ***"},
		"x\xff\n":                    {"x\ufffd"},
	} {
		if got := printed(t, output, "secret"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

func TestLongLines(t *testing.T) {
	secret := "the secret of this test"
	var b strings.Builder
	for b.Len() < maxBuffered-200 {
		b.WriteString("é" + strings.Repeat("x", rand.IntN(50)) + secret)
	}
	for _, ending := range []string{"", "\n"} {
		got := printed(t, b.String()+ending, secret)
		for _, line := range got {
			if len(line) > maxLine || strings.Contains(line, "secret") || strings.Contains(line, "\ufffd") {
				t.Errorf("a line of %d: %.80q", len(line), line)
			}
		}
		if all := strings.Join(got, ""); all != strings.ReplaceAll(b.String(), secret, hidden) {
			t.Errorf("%d of %d bytes are left", len(all), b.Len())
		}
	}
	if got := strings.Join(printed(t, strings.Repeat("z", 3*maxBuffered)), ""); len(got) != 3*maxBuffered {
		t.Errorf("%d bytes are left of a line without an end", len(got))
	}
}
