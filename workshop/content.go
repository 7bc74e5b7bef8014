package workshop

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Location is where a workshop's repositories and images are, without a slash in
// the end.
type Location struct {
	Repositories string // what URLs of repositories begin with: "https://github.com/acme"
	Images       string // what names of images begin with: "ghcr.io/acme"
}

// On returns the location of an organisation, such as
// "http://localhost:3000/kalypso", on a forge that is the registry too.
func On(orgURL string) Location {
	orgURL = strings.TrimRight(orgURL, "/")
	_, images, _ := strings.Cut(orgURL, "://")
	return Location{Repositories: orgURL, Images: images}
}

// Load returns the workshop with the files of its branches, in which the
// addresses are those of the location. Repositories with a history of their own
// have Bare instead. The caller owns what it gets.
func (w *Workshop) Load(at Location) (*Workshop, error) {
	loaded := *w
	loaded.ControlPlane.Environments = slices.Clone(w.ControlPlane.Environments)
	loaded.Workflows.Secrets = slices.Clone(w.Workflows.Secrets)
	loaded.Repositories = slices.Clone(w.Repositories)
	replacer := w.Replacer(at)
	for i := range loaded.Repositories {
		r := &loaded.Repositories[i]
		r.Branches, r.PullRequests = slices.Clone(r.Branches), slices.Clone(r.PullRequests)
		if r.Bare != "" {
			continue
		}
		for j := range r.Branches {
			files, err := w.branchFiles(r.Name, r.Branches[j].Name, replacer)
			if err != nil {
				return nil, fmt.Errorf("loading workshop %s: %w", w.Name, err)
			}
			if on, ok := r.Branch(r.Branches[j].OnTop); ok {
				// a branch is listed after the one that it is on top of
				own := files
				files = maps.Clone(on.Files)
				maps.Copy(files, own)
			}
			r.Branches[j].Files = files
		}
	}
	return &loaded, nil
}

// branchFiles reads the files of one branch.
func (w *Workshop) branchFiles(repository, branch string, replacer *Replacer) (map[string][]byte, error) {
	folder := path.Join(RepositoryFolder, repository, branch)
	files := map[string][]byte{}
	err := fs.WalkDir(w.Files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(w.Files, name)
		if err != nil {
			return err
		}
		files[strings.TrimPrefix(name, folder+"/")] = replacer.Replace(data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", folder, err)
	}
	return files, nil
}

// Replacer puts the addresses of a location in place of those that a workshop's
// files have. The zero one replaces nothing.
type Replacer struct {
	pattern *regexp.Regexp
	from    []string // the longest first: one may be the beginning of another
	to      map[string]string
}

// Replacer returns what replaces the workshop's addresses.
func (w *Workshop) Replacer(at Location) *Replacer {
	to := map[string]string{}
	for _, a := range w.Addresses {
		switch {
		case a.Organisation:
			to[a.From] = at.Repositories
		case a.Registry:
			to[a.From] = at.Images
		default:
			to[a.From] = at.Repositories + "/" + a.Repository
		}
	}
	return NewReplacer(to)
}

// NewReplacer returns what replaces each address by another.
func NewReplacer(to map[string]string) *Replacer {
	if len(to) == 0 {
		return &Replacer{}
	}
	r := &Replacer{to: to, from: slices.SortedFunc(maps.Keys(to), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})}
	quoted := make([]string, len(r.from))
	for i, from := range r.from {
		quoted[i] = regexp.QuoteMeta(from)
	}
	r.pattern = regexp.MustCompile(strings.Join(quoted, "|"))
	return r
}

// Replace returns a text with the addresses replaced; what is no text is
// returned as it is.
func (r *Replacer) Replace(data []byte) []byte {
	if r == nil || r.pattern == nil || bytes.IndexByte(data, 0) >= 0 {
		return data
	}
	var out []byte
	end := 0
	for _, at := range r.pattern.FindAllIndex(data, -1) {
		for _, from := range r.from {
			rest, is := bytes.CutPrefix(data[at[0]:], []byte(from))
			if !is || continues(rest) { // the address of something else, with a longer name
				continue
			}
			out = append(append(out, data[end:at[0]]...), r.to[from]...)
			end = len(data) - len(rest)
			break
		}
	}
	if end == 0 {
		return data
	}
	return append(out, data[end:]...)
}

// continues says whether what follows an address belongs to its last name.
func continues(rest []byte) bool {
	if len(rest) == 0 {
		return false
	}
	switch c := rest[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		return true
	case c == '.':
		return len(rest) > 1 && !bytes.HasPrefix(rest, []byte(".git")) && rest[1] != ' ' && rest[1] != '\n'
	}
	return false
}
