package addresses

import "testing"

func TestReplace(t *testing.T) {
	r := NewReplacer(map[string]string{
		"https://git.example/org/app":      "http://forge/k/app",
		"https://git.example/org/app-data": "http://forge/k/data",
		"git@git.example:org/app":          "http://forge/k/app",
		"https://git.example/org":          "http://forge/k",
	})
	for text, want := range map[string]string{
		"repo: https://git.example/org/app":                     "repo: http://forge/k/app",
		"repo: https://git.example/org/app.git\n":               "repo: http://forge/k/app.git\n",
		"see https://git.example/org/app.":                      "see http://forge/k/app.",
		"see https://git.example/org/app. It":                   "see http://forge/k/app. It",
		"https://git.example/org/app/blob/main/x":               "http://forge/k/app/blob/main/x",
		"https://git.example/org/app-data":                      "http://forge/k/data",
		"https://git.example/org/app-other":                     "http://forge/k/app-other",
		"https://git.example/org/app.io":                        "http://forge/k/app.io",
		"https://git.example/organisation/app":                  "https://git.example/organisation/app",
		"git@git.example:org/app,https://git.example/org/app":   "http://forge/k/app,http://forge/k/app",
		"https://elsewhere.example/org/app":                     "https://elsewhere.example/org/app",
		"\x00 binary https://git.example/org/app":               "\x00 binary https://git.example/org/app",
		"https://git.example/org\nhttps://git.example/org/none": "http://forge/k\nhttp://forge/k/none",
		"": "",
	} {
		if got := string(r.Replace([]byte(text))); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
	for _, none := range []*Replacer{nil, {}, NewReplacer(nil)} {
		if got := string(none.Replace([]byte("https://git.example/org/app"))); got != "https://git.example/org/app" {
			t.Errorf("nothing to replace: %q", got)
		}
	}
}
