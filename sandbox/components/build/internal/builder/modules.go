package builder

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/modules"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// acceptedFile has a line for each vulnerability that has to stay:
// component module reports reason.
//
//go:embed accepted.txt
var acceptedFile string

// Vulnerabilities prints for kalypso and each component which of its modules
// have newer patches or known vulnerabilities in the packages it is built from,
// and fails if one of these is not accepted. Where the database cannot be had it prints the versions alone,
// and fails.
func (b Builder) Vulnerabilities(ctx context.Context) error {
	if err := b.locate(); err != nil {
		return err
	}
	accepted, err := parseAccepted(acceptedFile)
	if err != nil {
		return err
	}
	database, unavailable := modules.OpenDatabase(ctx, filepath.Dir(b.Cache))
	open := 0
	for _, r := range append([]recipe.Recipe{{Name: components.Self}}, b.Recipes...) {
		dir := filepath.Join(b.components(), r.Name)
		if r.Name == components.Self {
			dir = b.Root
		}
		packed, err := modules.Packed(ctx, dir, slices.Collect(maps.Values(r.Versions)))
		if err != nil {
			return err
		}
		for _, p := range packed {
			b.log(r.Name, "%s %s, the newest patch is %s", p.Module, p.From, p.To)
		}
		if unavailable != nil {
			continue
		}
		found, err := database.Scan(ctx, dir)
		if err != nil {
			return err
		}
		for _, v := range found {
			fix := "no fix"
			if v.Fixed != "" {
				fix = "fixed in " + v.Fixed
			}
			left, reason := accepted.without(r.Name, v)
			if len(left) == 0 {
				b.log(r.Name, "%s %s (%s) accepted: %s", v.Module, v.Version, fix, reason)
				continue
			}
			open++
			b.log(r.Name, "%s %s is vulnerable (%s): %s", v.Module, v.Version, fix, strings.Join(left, ", "))
		}
	}
	if unavailable != nil {
		return unavailable
	}
	if open > 0 {
		return fmt.Errorf("%d modules are vulnerable: update the component that has them, or say in accepted.txt why they stay", open)
	}
	return nil
}

// Update moves one component to the newest patches and prints what changed.
func (b Builder) Update(ctx context.Context, name string) error {
	if err := b.locate(); err != nil {
		return err
	}
	var names []string
	for _, r := range b.Recipes {
		names = append(names, r.Name)
	}
	at := slices.Index(names, name)
	if at < 0 {
		return fmt.Errorf("%q is no component, one of %s is", name, strings.Join(names, ", "))
	}
	database, err := modules.OpenDatabase(ctx, filepath.Dir(b.Cache))
	if err != nil {
		return err
	}
	changes, refused, err := modules.Update(ctx, filepath.Join(b.components(), name), slices.Sorted(maps.Values(b.Recipes[at].Versions)), database)
	if err != nil {
		return err
	}
	for _, c := range changes {
		b.log(name, "%s %s -> %s", c.Module, orNone(c.From), orNone(c.To))
	}
	for _, err := range refused {
		b.log(name, "left as it was: %v", err)
	}
	b.log(name, "%d modules changed; build and test it now", len(changes))
	return nil
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

// acceptance is one line of acceptedFile.
type acceptance struct {
	component, module, reason string
	reports                   []string
}

type acceptances []acceptance

// parseAccepted reads acceptedFile. A component "*" is every one, reports "*" are all.
func parseAccepted(text string) (acceptances, error) {
	var all acceptances
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			return nil, fmt.Errorf("accepted.txt:%d: %w", i+1, errors.New("a line is: component module report,report reason"))
		}
		all = append(all, acceptance{fields[0], fields[1], fields[3], strings.Split(fields[2], ",")})
	}
	return all, nil
}

// without returns the reports of v that are not accepted, and the reason of
// those that are.
func (a acceptances) without(component string, v modules.Vulnerability) (left []string, reason string) {
	left = slices.Clone(v.IDs)
	for _, each := range a {
		if each.module == v.Module && (each.component == "*" || each.component == component) {
			reason = each.reason
			left = slices.DeleteFunc(left, func(id string) bool {
				return slices.Contains(each.reports, "*") || slices.Contains(each.reports, id)
			})
		}
	}
	return left, reason
}
