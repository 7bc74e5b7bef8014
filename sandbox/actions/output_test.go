package actions

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{[]string{"abc"}, "abcabc", "***"},
		{[]string{"aXa"}, "aXaXa", "***"}, // they overlap
		{[]string{"abc", "bcd"}, "abcd", "***"},
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

// write gives output in pieces of random sizes.
func write(t *testing.T, l *lines, output string) {
	for output != "" {
		n := min(1+rand.IntN(len(output)/3+2), len(output))
		if _, err := l.Write([]byte(output[:n])); err != nil {
			t.Fatal(err)
		}
		output = output[n:]
	}
	l.flush()
}

func TestLines(t *testing.T) {
	for output, want := range map[string][]string{
		"":                            nil,
		"a":                           {"a"},
		"a\nb\n":                      {"a", "b"},
		"a\r\n\n b \n":                {"a", "", " b "},
		"my secret\n":                 {"my ***"},
		"::add-mask::ab%0Acd\nab cd":  {"::add-mask::***", "*** ***"},
		"x\xff\n":                     {"x\ufffd"},
		"out\n<end>0\nmore":           {"out", "END 0", "more"},
		"no newline<end>1\n":          {"no newline", "END 1"},
		"<end>137\n":                  {"END 137"},
		"secret<end>0\nsecret<end>1 ": {"***", "END 0", "***", "END 1"},
	} {
		for range 20 {
			var got []string
			l := &lines{mask: masked("secret"), mark: "<end>", emit: func(s string) { got = append(got, s) }}
			l.end = func(code string) { got = append(got, "END "+code) }
			write(t, l, output)
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", output, got, want)
			}
		}
	}
}

func TestLongLines(t *testing.T) {
	secret := "the secret of this test"
	var b strings.Builder
	for b.Len() < 5*maxLine {
		b.WriteString("é" + strings.Repeat("x", rand.IntN(50)) + secret)
	}
	for _, ending := range []string{"", "\n", "<end>0\n"} {
		var got []string
		l := &lines{mask: masked(secret), mark: "<end>", emit: func(s string) { got = append(got, s) }, end: func(string) {}}
		write(t, l, b.String()+ending)
		for _, line := range got {
			if len(line) > maxLine+4 || strings.Contains(line, "secret") || strings.Contains(line, "\ufffd") {
				t.Errorf("a line of %d: %.80q", len(line), line)
			}
		}
		if all := strings.Join(got, ""); all != strings.ReplaceAll(b.String(), secret, hidden) {
			t.Errorf("%d of %d bytes are left", len(all), b.Len())
		}
	}
	// wherever a long line is broken, no letter is
	for pad := range 8 {
		text := strings.Repeat("y", pad) + strings.Repeat("é€", maxLine)
		var got []string
		l := &lines{mask: masked(secret), mark: "<end>", emit: func(s string) { got = append(got, s) }, end: func(string) {}}
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		l.flush()
		if all := strings.Join(got, ""); all != text {
			t.Errorf("%d bytes ahead: %d of %d bytes are left, %d broken letters", pad, len(all), len(text), strings.Count(all, "\ufffd"))
		}
	}
	// a secret without an end holds nothing up
	var got int
	l := &lines{mask: masked("aa"), mark: "<end>", emit: func(string) { got++ }, end: func(string) {}}
	write(t, l, strings.Repeat("a", 10*maxLine))
	if got == 0 || len(l.rest) > 0 {
		t.Errorf("%d lines, %d bytes are left", got, len(l.rest))
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a secret\nb", "secret", 3)
	f.Fuzz(func(t *testing.T, output, secret string, piece int) {
		var got []string
		l := &lines{mask: masked(secret), mark: "\x00mark:", emit: func(s string) { got = append(got, s) }, end: func(string) {}}
		piece = max(1, piece%1000)
		for rest := output; rest != ""; {
			n := min(piece, len(rest))
			_, _ = l.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		l.flush()
		s := strings.TrimSpace(secret)
		for _, line := range got {
			if s != "" && !strings.ContainsAny(s, "\r\n*\ufffd") && strings.ToValidUTF8(s, "") == s && strings.Contains(line, s) {
				t.Errorf("%q shows %q", line, s)
			}
		}
	})
}

func TestParsePairs(t *testing.T) {
	for content, want := range map[string][]pair{
		"":                              nil,
		"a=b\n\nc=\n":                   {{"a", "b"}, {"c", ""}},
		"a=b=c<<d":                      {{"a", "b=c<<d"}},
		"a<<E\n1\n\n2=3\nE\nb=c":        {{"a", "1\n\n2=3"}, {"b", "c"}},
		"a<<E\r\n1\r\nE\r\n":            {{"a", "1"}},
		"a<<E\nE\n":                     {{"a", ""}},
		"json={\"x\": \"y\"}\nlast=end": {{"json", `{"x": "y"}`}, {"last", "end"}},
	} {
		got, err := parsePairs(content)
		if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(pair{})) {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	for _, content := range []string{"nonsense", "=x", "a<<\nx\n", "a<<E\nx\n", "<<E\nx\nE"} {
		if got, err := parsePairs(content); err == nil {
			t.Errorf("%q is %q, want an error", content, got)
		}
	}
}

func TestParsePaths(t *testing.T) {
	if got := parsePaths("/a\n\n /b \r\n/c"); !slices.Equal(got, []string{"/c", "/b", "/a"}) {
		t.Error(got)
	}
}
