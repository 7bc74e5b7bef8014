package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	packageurl "github.com/package-url/packageurl-go"
)

// billOfMaterials writes what a program is made of, as CycloneDX: kalypso's own
// modules, and each packed component with its own.
func (r *Release) billOfMaterials(t Target, b built) error {
	digest, err := digestOf(b.path)
	if err != nil {
		return err
	}
	root := cyclonedx.Component{
		BOMRef: t.Name, Type: cyclonedx.ComponentTypeApplication, Name: t.Name, Version: r.number(),
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest}},
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: &[]cyclonedx.Property{
			{Name: "kalypso:platform", Value: t.Platform()}, {Name: "kalypso:commit", Value: r.commit},
		},
	}
	modules := map[string][]module{}
	for _, m := range b.inventory.Licenses {
		modules[m.Component] = append(modules[m.Component], m)
	}
	own, dependencies, err := libraries(whole, modules[whole])
	if err != nil {
		return err
	}
	refs := refsOf(own)
	for _, packed := range b.inventory.Components {
		inside, more, err := libraries(packed.Name, modules[packed.Name])
		if err != nil {
			return err
		}
		dependencies = append(dependencies, more...)
		c := cyclonedx.Component{
			BOMRef: "packed/" + packed.Name, Type: cyclonedx.ComponentTypeApplication, Name: packed.Name, Components: &inside,
			Description: "packed into kalypso", Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: packed.SHA256}},
		}
		var properties []cyclonedx.Property
		for _, name := range slices.Sorted(maps.Keys(packed.Versions)) {
			properties = append(properties, cyclonedx.Property{Name: "kalypso:version:" + name, Value: packed.Versions[name]})
		}
		if len(properties) > 0 {
			c.Properties = &properties
		}
		own = append(own, c)
		refs = append(refs, c.BOMRef)
		inRefs := refsOf(inside)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: c.BOMRef, Dependencies: &inRefs})
	}
	dependencies = append(dependencies, cyclonedx.Dependency{Ref: root.BOMRef, Dependencies: &refs})
	bom := cyclonedx.NewBOM()
	// made of what it describes, so that the same program has the same
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(repository+"#"+t.String()+"#"+digest)).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: &root}
	bom.Components, bom.Dependencies = &own, &dependencies
	return r.create(fmt.Sprintf("%s_%s_%s_%s.cdx.json", t.Name, r.number(), t.OS, t.Arch), func(f *os.File) error {
		return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	})
}

// libraries are the modules of one program.
func libraries(of string, modules []module) (all []cyclonedx.Component, dependencies []cyclonedx.Dependency, err error) {
	for _, m := range modules {
		c := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: m.Name, Version: m.Version, PackageURL: urlOf(m)}
		c.BOMRef = of + "/" + c.PackageURL
		if ids := licensesOf(m); len(ids) > 0 {
			var licenses cyclonedx.Licenses
			for _, id := range ids {
				one := &cyclonedx.License{ID: id}
				if slices.Contains(addedToSPDX, id) {
					one = &cyclonedx.License{Name: id}
				}
				licenses = append(licenses, cyclonedx.LicenseChoice{License: one})
			}
			c.Licenses = &licenses
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	all = slices.CompactFunc(all, func(a, b cyclonedx.Component) bool { return a.BOMRef == b.BOMRef })
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("nothing is known of what %s is made of", of)
	}
	for _, c := range all {
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: c.BOMRef})
	}
	return all, dependencies, nil
}

func refsOf(components []cyclonedx.Component) []string {
	var refs []string
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	return refs
}

// urlOf is the package URL of a module.
func urlOf(m module) string {
	kind, name := packageurl.TypeGolang, m.Name
	if npm, ok := strings.CutPrefix(name, "npm:"); ok {
		kind, name = packageurl.TypeNPM, npm
	} else if name != "std" && !strings.Contains(name, ".") {
		kind = packageurl.TypeGeneric // a library of the distribution
	}
	namespace := ""
	if i := strings.LastIndex(name, "/"); i >= 0 {
		namespace, name = name[:i], name[i+1:]
	}
	return packageurl.NewPackageURL(kind, namespace, name, m.Version, nil, "").ToString()
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
