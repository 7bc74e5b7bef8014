package components

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/klauspost/compress/zstd"
)

const (
	// Self is the name under which [Licenses] knows kalypso's own code.
	Self = "kalypso"
	// LicensesFile holds the licences of an archive; it is its first file, so
	// that reading it does not unpack the rest.
	LicensesFile = "licenses.json"
	// SelfLicensesFile holds the licences of kalypso's own code in a payload.
	SelfLicensesFile = "licenses-kalypso.json.zst"
)

// A License holds the licence texts of one module or package that is linked
// into, or bundled with, a component.
type License struct {
	Component string        `json:"component"`
	Module    string        `json:"module"`
	Version   string        `json:"version"`
	Files     []LicenseFile `json:"files"`
}

// A LicenseFile is one text as its authors wrote it.
type LicenseFile struct {
	// Name is the file's path within the module.
	Name string `json:"name"`
	Text string `json:"text"`
}

// Licenses returns the licences of everything in the component, or in kalypso
// itself for [Self], sorted by module. Nothing is staged for it.
func (p *Payload) Licenses(component string) ([]License, error) {
	if p.err != nil {
		return nil, p.err
	}
	var out []License
	err := p.readLicenses(component, func(r io.Reader) error { return json.NewDecoder(r).Decode(&out) })
	if err != nil {
		return nil, fmt.Errorf("licences of %s: %w", component, err)
	}
	return out, nil
}

func (p *Payload) readLicenses(component string, read func(io.Reader) error) error {
	if component == Self {
		f, err := p.fsys.Open(SelfLicensesFile)
		if err != nil {
			return err
		}
		defer f.Close()
		zr, err := zstd.NewReader(f)
		if err != nil {
			return err
		}
		defer zr.Close()
		return read(zr)
	}
	c, ok := p.manifest.Component(component)
	if !ok {
		return fs.ErrNotExist
	}
	f, err := p.fsys.Open(c.Archive())
	if err != nil {
		return err
	}
	defer f.Close()
	found := false
	err = readArchive(f, func(name string, r io.Reader) error {
		if path.Clean(name) != LicensesFile {
			return nil
		}
		found = true
		if err := read(r); err != nil {
			return err
		}
		return errStop
	})
	if err == nil && !found {
		return fmt.Errorf("%s is not in %s", LicensesFile, c.Archive())
	}
	return err
}
