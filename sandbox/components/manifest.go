package components

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// ManifestFile is the name of the manifest within a payload.
const ManifestFile = "manifest.json"

// A Manifest says what a payload holds.
type Manifest struct {
	// Platform is what the programs run on, as GOOS/GOARCH.
	Platform string `json:"platform"`
	// Components are sorted by name.
	Components []Component `json:"components"`
}

// A Component is one archive: programs and the files they need beside them.
type Component struct {
	// Name names the component in every call of this package.
	Name string `json:"name"`
	// Versions are the versions of the software in it, by its common name.
	Versions map[string]string `json:"versions"`
	// SHA256 is the digest of the archive, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Size is the length of the archive.
	Size int64 `json:"size"`
	// Files are all files of the archive, in its order.
	Files []File `json:"files"`
}

// A File is one regular file of an archive. Archives hold nothing else:
// folders follow from the paths, and there are no links.
type File struct {
	// Path is relative and slash-separated.
	Path string `json:"path"`
	// Mode is 0644 or 0755.
	Mode fs.FileMode `json:"mode"`
	// Size is the length of the file.
	Size int64 `json:"size"`
	// SHA256 is the digest of the content, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// Executable reports whether the file is a program.
func (f File) Executable() bool { return f.Mode&0o111 != 0 }

// A Version is one line of what `kalypso version` prints about the payload.
type Version struct {
	Component string `json:"component"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// Component returns the component of that name.
func (m Manifest) Component(name string) (Component, bool) {
	for _, c := range m.Components {
		if c.Name == name {
			return c, true
		}
	}
	return Component{}, false
}

// Names returns the names of all components.
func (m Manifest) Names() []string {
	names := make([]string, len(m.Components))
	for i, c := range m.Components {
		names[i] = c.Name
	}
	return names
}

// Versions returns the version of every piece of software in the payload,
// sorted by component and name.
func (m Manifest) Versions() []Version {
	var out []Version
	for _, c := range m.Components {
		for _, name := range slices.Sorted(maps.Keys(c.Versions)) {
			out = append(out, Version{Component: c.Name, Name: name, Version: c.Versions[name]})
		}
	}
	return out
}

// Archive is the name of the component's archive within a payload.
func (c Component) Archive() string { return c.Name + ".tar.zst" }

// Folder is the name of the component's staged folder.
func (c Component) Folder() string { return c.Name + "-" + c.SHA256[:digestLen] }

// UnpackedSize is the length of all files together.
func (c Component) UnpackedSize() int64 {
	var n int64
	for _, f := range c.Files {
		n += f.Size
	}
	return n
}

// digestLen is how much of a digest a folder's name shows.
const digestLen = 12

// ParseManifest reads a manifest and checks that staging it cannot write
// outside of its folder.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("parse %s: %w", ManifestFile, err)
	}
	seen := map[string]bool{}
	for _, c := range m.Components {
		if err := c.check(); err != nil {
			return Manifest{}, fmt.Errorf("parse %s: component %q: %w", ManifestFile, c.Name, err)
		}
		if seen[c.Name] {
			return Manifest{}, fmt.Errorf("parse %s: component %q: listed twice", ManifestFile, c.Name)
		}
		seen[c.Name] = true
	}
	return m, nil
}

func (c Component) check() error {
	if c.Name == "" || strings.ContainsAny(c.Name, `/\.-`) {
		return errors.New("bad name")
	}
	if !isDigest(c.SHA256) {
		return fmt.Errorf("bad archive digest %q", c.SHA256)
	}
	for _, f := range c.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || strings.Contains(f.Path, `\`) {
			return fmt.Errorf("bad path %q", f.Path)
		}
		if !isDigest(f.SHA256) || f.Size < 0 {
			return fmt.Errorf("%s: bad digest or size", f.Path)
		}
	}
	return nil
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
