package workshop

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/addresses"
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
func (w *Workshop) branchFiles(repository, branch string, replacer *addresses.Replacer) (map[string][]byte, error) {
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

// Replacer returns what replaces the workshop's addresses.
func (w *Workshop) Replacer(at Location) *addresses.Replacer {
	return addresses.NewReplacer(w.AddressesAt(at))
}

// AddressesAt are those of a location by what stands for them in the files.
func (w *Workshop) AddressesAt(at Location) map[string]string {
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
	return to
}
