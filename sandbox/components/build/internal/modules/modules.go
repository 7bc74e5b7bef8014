// Package modules looks after the versions of what is built into kalypso and
// its components: what is known against them, and how one component gets the
// newest patches.
package modules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// kubernetes asks for its parts in v0.0.0, so a go.mod replaces each by the
// version of the same release (https://github.com/kubernetes/kubernetes/tree/master/staging).
const kubernetes = "k8s.io/kubernetes"

// alone lets go see one module, whatever folder or workspace it runs in.
var alone = []string{"GOWORK=off", "GOFLAGS=-mod=mod"}

// versions returns the modules that the go.mod in dir requires, direct or not,
// with the version that is compiled.
func versions(dir string) (map[string]string, error) {
	file, err := read(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range file.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range file.Replace {
		if all[r.Old.Path] != "" {
			all[r.Old.Path] = r.New.Version
		}
	}
	return all, nil
}

func read(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

// newestPatch returns the newest release of the module in the line of the
// version, v1.35 for v1.35.4: the version itself where there is no newer one, or it is
// no release. Versions that the go.mod in dir excludes do not count. A proxy
// may have versions that it does not list, so the next ones are asked for by
// name.
func newestPatch(ctx context.Context, dir string, file *modfile.File, module, version string) (string, error) {
	out, err := command.Command{Dir: dir, Env: alone, Args: []string{"go", "list", "-m", "-versions", module}}.Output(ctx)
	if err != nil {
		return "", fmt.Errorf("list the versions of %s: %w", module, err)
	}
	newest := patch(version, strings.Fields(string(out)))
	for {
		var major, minor, n int
		if _, err := fmt.Sscanf(newest, "v%d.%d.%d", &major, &minor, &n); err != nil || semver.Prerelease(newest) != "" {
			return newest, nil
		}
		next := fmt.Sprintf("v%d.%d.%d", major, minor, n+1)
		if slices.ContainsFunc(file.Exclude, func(e *modfile.Exclude) bool { return e.Mod.Path == module && e.Mod.Version == next }) {
			return newest, nil
		}
		if (command.Command{Dir: dir, Env: alone, Args: []string{"go", "list", "-m", module + "@" + next}}).Run(ctx) != nil {
			return newest, ctx.Err()
		}
		newest = next
	}
}

func patch(version string, others []string) string {
	newest := version
	for _, v := range others {
		if semver.MajorMinor(v) == semver.MajorMinor(version) && semver.Prerelease(v) == "" && semver.Compare(v, newest) > 0 {
			newest = v
		}
	}
	return newest
}

// Packed returns which versions of the modules are built in dir (From), and the
// newest patch of each (To), by name.
func Packed(ctx context.Context, dir string, names []string) ([]Change, error) {
	built, err := versions(dir)
	if err != nil {
		return nil, err
	}
	file, err := read(dir)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if built[name] == "" || replaces(file, name) {
			continue // of the sandbox itself, or another module in its place
		}
		newest, err := newestPatch(ctx, dir, file, name, built[name])
		if err != nil {
			return nil, err
		}
		all = append(all, Change{name, built[name], newest})
	}
	return all, nil
}

// A Change is a module whose version an update changed; From or To is empty
// where it came or went.
type Change struct{ Module, From, To string }

// Update moves the component in dir to the newest patches: of the modules that
// it is named after, and to the fixes of what the database knows against it;
// other versions that its go.mod replaces stay. A version that cannot be had
// with the others is left as it is, and returned among the refused.
// After an error go.mod and go.sum are as they were.
func Update(ctx context.Context, dir string, named []string, database Database) (changes []Change, refused []error, err error) {
	before, err := versions(dir)
	if err != nil {
		return nil, nil, err
	}
	original, err := save(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, original.restore())
		}
	}()
	lines := map[string]string{} // of the modules that it is named after, as module@version
	for _, module := range named {
		// a module that is replaced has another in its place
		if version := before[module]; version != "" && !replaces(original.file, module) {
			lines[module] = module + "@" + version
		}
	}
	for _, module := range slices.Sorted(maps.Keys(lines)) {
		to, err := newestPatch(ctx, dir, original.file, module, before[module])
		if err != nil {
			return nil, nil, err
		}
		if to == before[module] {
			continue
		}
		was := lines[module]
		lines[module] = module + "@" + to
		if err := get(ctx, dir, slices.Collect(maps.Values(lines))); err != nil {
			refused = append(refused, err)
			lines[module] = was
		}
	}
	known, err := database.Scan(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range known {
		// an earlier fix may have brought more than this one, which would take it back
		now, err := versions(dir)
		if err != nil {
			return nil, nil, err
		}
		if v.Fixed == "" || v.Module == "stdlib" || lines[v.Module] != "" || semver.Compare(now[v.Module], v.Fixed) >= 0 {
			continue
		}
		// together with the lines: a fix may not move the component to another one
		if err := get(ctx, dir, append(slices.Collect(maps.Values(lines)), v.Module+"@"+v.Fixed)); err != nil {
			refused = append(refused, err)
		}
	}
	// what only tests of other modules need may not be there for any proxy
	if err := (command.Command{Dir: dir, Env: alone, Args: []string{"go", "mod", "tidy", "-e"}}).Run(ctx); err != nil {
		return nil, nil, err
	}
	after, err := versions(dir)
	if err != nil {
		return nil, nil, err
	}
	return compare(before, after), refused, nil
}

// get moves modules, each given as module@version, all or none.
func get(ctx context.Context, dir string, modules []string) error {
	before, err := save(dir)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if release, ok := strings.CutPrefix(m, kubernetes+"@v1"); ok {
			err = before.stage("v0" + release)
		}
	}
	if err == nil {
		err = command.Command{Dir: dir, Env: alone, Args: append([]string{"go", "get"}, modules...)}.Run(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", modules[len(modules)-1], err), before.restore())
	}
	return nil
}

// saved is what a module's versions are written in.
type saved struct {
	dir      string
	mod, sum []byte
	file     *modfile.File
}

func save(dir string) (s saved, err error) {
	s.dir = dir
	if s.mod, err = os.ReadFile(filepath.Join(dir, "go.mod")); err != nil {
		return saved{}, err
	}
	if s.sum, err = os.ReadFile(filepath.Join(dir, "go.sum")); err != nil {
		return saved{}, err
	}
	s.file, err = read(dir)
	return s, err
}

func (s saved) restore() error {
	return errors.Join(os.WriteFile(filepath.Join(s.dir, "go.mod"), s.mod, 0o644), os.WriteFile(filepath.Join(s.dir, "go.sum"), s.sum, 0o644))
}

func replaces(file *modfile.File, module string) bool {
	return slices.ContainsFunc(file.Replace, func(r *modfile.Replace) bool { return r.Old.Path == module })
}

// stage replaces the parts of Kubernetes by those of another release.
func (s saved) stage(version string) error {
	for _, r := range slices.Clone(s.file.Replace) {
		if strings.HasPrefix(r.New.Path, "k8s.io/") {
			if err := s.file.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, version); err != nil {
				return err
			}
		}
	}
	data, err := s.file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "go.mod"), data, 0o644)
}

func compare(before, after map[string]string) []Change {
	var all []Change
	for module, from := range before {
		if to := after[module]; to != from {
			all = append(all, Change{module, from, to})
		}
	}
	for module, to := range after {
		if _, was := before[module]; !was {
			all = append(all, Change{Module: module, To: to})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Module, b.Module) })
	return all
}
