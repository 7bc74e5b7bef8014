package platform

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/pmezard/go-difflib/difflib"
)

// originals puts the addresses of the original in the place of the sandbox's.
type originals struct {
	organisation string              // of the sandbox
	registry     string              // of the sandbox
	spellings    map[string][]string // of the original, by repository; the one for new lines first
	elsewhere    string              // the original's organisation
	images       string              // what names of the original's images begin with
	repository   *regexp.Regexp      // finds addresses of the sandbox
	image        *regexp.Regexp
}

func newOriginals(w *workshop.Workshop, organisation, registry string) *originals {
	o := &originals{organisation: organisation, registry: registry, spellings: map[string][]string{}}
	for _, a := range w.Addresses {
		switch {
		case a.Repository != "":
			o.spellings[a.Repository] = append(o.spellings[a.Repository], a.From)
		case a.Organisation:
			o.elsewhere = cmp.Or(o.elsewhere, a.From)
		case a.Registry:
			o.images = cmp.Or(o.images, a.From)
		}
	}
	if o.elsewhere == "" { // for repositories that are new in the sandbox
		for _, spelling := range o.spellings[w.ControlPlane.Repository] {
			if begin, _, ok := cutLast(spelling, "/"); ok && strings.Contains(spelling, "://") {
				o.elsewhere = begin
				break
			}
		}
	}
	o.repository = regexp.MustCompile(regexp.QuoteMeta(organisation) + `(?:/([\w.-]*[\w-]))?`)
	o.image = regexp.MustCompile(`(^|[^\w.:/-]|docker://|oci://)` + regexp.QuoteMeta(registry) + `/`)
	return o
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// has reports whether a text has an address of the sandbox.
func (o *originals) has(text []byte) bool {
	return bytes.Contains(text, []byte(o.organisation)) || o.registry != "" && bytes.Contains(text, []byte(o.registry))
}

// reverse returns a file of the sandbox as the original would have it. Lines that the
// sandbox began with are those of the original again, whichever of several spellings
// an address had there; in all others an address gets the spelling that the file has
// for the repository, else the first one.
func (o *originals) reverse(now, seeded, original []byte) []byte {
	if !o.has(now) {
		return now
	}
	lines, was, is := splitLines(now), splitLines(seeded), splitLines(original)
	if len(was) != len(is) {
		was, is = nil, nil
	}
	back := make([]string, len(lines))
	for _, block := range difflib.NewMatcherWithJunk(was, lines, false, nil).GetMatchingBlocks() {
		for i := range block.Size {
			back[block.B+i] = is[block.A+i]
		}
	}
	for i, line := range lines {
		if back[i] == "" {
			back[i] = o.reverseLine(line, original)
		}
	}
	return []byte(strings.Join(back, ""))
}

func splitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// reverseLine puts the original's addresses into a new line of a file.
func (o *originals) reverseLine(line string, original []byte) string {
	var out strings.Builder
	end := 0
	for _, m := range o.repository.FindAllStringSubmatchIndex(line, -1) {
		out.WriteString(line[end:m[0]])
		end = m[1]
		if m[2] < 0 {
			if rest := line[end:]; o.elsewhere == "" || rest != "" && strings.ContainsAny(rest[:1], "-_.") {
				out.WriteString(line[m[0]:m[1]])
			} else {
				out.WriteString(o.elsewhere)
			}
			continue
		}
		name, suffix := line[m[2]:m[3]], ""
		if _, known := o.spellings[name]; !known {
			if bare := strings.TrimSuffix(name, ".git"); bare != name {
				name, suffix = bare, ".git"
			}
		}
		spelling := o.spelling(name, original)
		switch {
		case spelling == "" && o.elsewhere == "":
			spelling = line[m[0]:m[1]]
		case spelling == "":
			spelling = o.elsewhere + "/" + name + suffix
		case strings.HasPrefix(line[end:], "/"): // a page, or a file
			spelling = strings.TrimSuffix(spelling, ".git") + suffix
		}
		out.WriteString(spelling)
	}
	line = out.String() + line[end:]
	if o.registry == "" || o.images == "" {
		return line
	}
	return o.image.ReplaceAllString(line, "${1}"+strings.ReplaceAll(o.images, "$", "$$")+"/")
}

// spelling is how a file of the original spells the address of a repository, else how
// the platform does; "" for one that it has not got.
func (o *originals) spelling(name string, original []byte) string {
	all := o.spellings[name]
	if len(all) == 0 {
		return ""
	}
	longest := slices.SortedStableFunc(slices.Values(all), func(x, y string) int { return len(y) - len(x) })
	for _, spelling := range longest {
		if i := bytes.Index(original, []byte(spelling)); i >= 0 && isWhole(original[i+len(spelling):]) {
			return spelling
		}
	}
	return all[0]
}

// isWhole reports whether an address ends where the rest of a text begins.
func isWhole(rest []byte) bool {
	if len(rest) == 0 {
		return true
	}
	c := rest[0]
	return !(c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
}
