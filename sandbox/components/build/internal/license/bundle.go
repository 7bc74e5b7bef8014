package license

import (
	"regexp"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// npmTitle matches a package with its version, and no Go module: those are in
// the bundle too, as their authors listed them, but are read from the modules.
var npmTitle = regexp.MustCompile(`^((?:@[^/@\s]+/)?[^/@\s]+)@(\d\S*)$`)

// ParseBundle reads the licences of npm packages out of the text that a
// front end's bundler writes: a line of dashes, the package's title, a line of
// dashes, the text.
func ParseBundle(text string) []components.License {
	lines := strings.Split(text, "\n")
	var out []components.License
	var body []string
	open := false
	flush := func() {
		if !open {
			return
		}
		if t := strings.TrimSpace(strings.Join(body, "\n")); t != "" {
			out[len(out)-1].Files = []components.LicenseFile{{Name: "LICENSE", Text: t + "\n"}}
		}
	}
	for i := 0; i < len(lines); i++ {
		if i+2 < len(lines) && isRule(lines[i]) && isRule(lines[i+2]) {
			flush()
			body, open = nil, false
			if m := npmTitle.FindStringSubmatch(lines[i+1]); m != nil {
				out = append(out, components.License{Module: "npm:" + m[1], Version: m[2]})
				open = true
			}
			i += 2
			continue
		}
		body = append(body, lines[i])
	}
	flush()
	return out
}

func isRule(line string) bool { return len(line) == 80 && strings.Trim(line, "-") == "" }
