package builder

import (
	"debug/buildinfo"
	"fmt"
)

// versionsOf reads the versions of modules out of the program that was linked
// from them. names maps what the software is called to its module.
func versionsOf(program string, names map[string]string) (map[string]string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	linked := map[string]string{}
	for _, m := range info.Deps {
		linked[m.Path] = m.Version
		if m.Replace != nil {
			linked[m.Path] = m.Replace.Version
		}
	}
	versions := map[string]string{}
	for name, path := range names {
		v, ok := linked[path]
		if !ok {
			return nil, fmt.Errorf("%s is not linked into %s", path, program)
		}
		versions[name] = v
	}
	return versions, nil
}
