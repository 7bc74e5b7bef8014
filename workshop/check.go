package workshop

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// checkReferences reports names that are used twice, and those that lead nowhere.
func (p *parser) checkReferences(w *Workshop) {
	repositories := map[string]Repository{}
	var names []string
	for i, r := range w.Repositories {
		at := []string{"repositories", strconv.Itoa(i)}
		if slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, r.Name) }) {
			p.at(append(at, "name"), "there are two repositories %s", r.Name)
			continue
		}
		if wrong := RepositoryNameProblem(r.Name); wrong != "" {
			p.at(append(slices.Clone(at), "name"), "the forge takes no repository %s: the name %s", r.Name, wrong)
		}
		repositories[r.Name] = r
		names = append(names, r.Name)
		if redact.HasPassword(r.Git) {
			p.at(append(slices.Clone(at), "git"), "%s has credentials in its address, which would be handed on with the workshop: leave them out, and let git's credential helper have them", r.Name)
		}
		p.checkBranches(at, r)
	}
	known := func(name string, at ...string) (Repository, bool) {
		r, ok := repositories[name]
		if !ok {
			p.at(at, "there is no repository %s%s", name, nearest(name, names))
		}
		return r, ok
	}
	known(w.ControlPlane.Repository, "controlPlane", "repository")
	for i, image := range w.Images {
		repository, _, _ := strings.Cut(image.Name, "/")
		known(repository, "images", strconv.Itoa(i), "name")
	}
	for i, a := range w.Addresses {
		if a.Repository != "" {
			known(a.Repository, "addresses", strconv.Itoa(i), "repository")
		}
		if slices.ContainsFunc(w.Addresses[:i], func(o Address) bool { return o.From == a.From }) {
			p.at([]string{"addresses", strconv.Itoa(i), "from"}, "%s is there twice", a.From)
		}
	}
	for i, c := range w.Clusters {
		p.checkCluster([]string{"clusters", strconv.Itoa(i)}, c, known)
	}
	var field *FieldError
	if _, err := Expand(w.Clusters); errors.As(err, &field) {
		p.at(field.Path, "%s", field.Reason)
	}
	for i, name := range w.Scenarios.Apart {
		if slices.Contains(w.Scenarios.Order, name) {
			p.at([]string{"scenarios", "apart", strconv.Itoa(i)}, "the scenario %s is in order, too", name)
		}
	}
}

func nearest(name string, names []string) string {
	if n := model.Nearest(name, names); n != "" {
		return ", did you mean " + n + "?"
	}
	return ": there are " + strings.Join(names, ", ")
}

func (p *parser) checkBranches(at []string, r Repository) {
	var names []string
	for i, b := range r.Branches {
		position := append(slices.Clone(at), "branches", strconv.Itoa(i))
		switch {
		case slices.Contains(names, b.Name):
			p.at(position, "%s has two branches %s", r.Name, b.Name)
		case b.OnTop != "" && !slices.Contains(names, b.OnTop):
			p.at(append(position, "onTop"), "there is no branch %s before %s", b.OnTop, b.Name)
		case r.Git != "" && (b.OnTop != "" || b.Pinned):
			p.at(position, "%s has its own history of %s: onTop and pinned are for folders", r.Git, b.Name)
		}
		names = append(names, b.Name)
	}
	if len(r.Branches) == 0 {
		return // those that there are
	}
	for i, pr := range r.PullRequests {
		for field, name := range map[string]string{"head": pr.Head, "base": pr.Base} {
			if !slices.Contains(names, name) {
				p.at(append(slices.Clone(at), "pullRequests", strconv.Itoa(i), field), "%s has no branch %s%s", r.Name, name, nearest(name, names))
			}
		}
	}
}

func (p *parser) checkCluster(at []string, c Cluster, known func(name string, at ...string) (Repository, bool)) {
	switch virtual := c.Kind == VirtualCluster; {
	case (c.Kind == Host) != (c.Reconciler == Ansible):
		p.at(append(slices.Clone(at), "reconciler"), "%s: hosts have the reconciler %s, and clusters have another one", c.Name, Ansible)
	case virtual && c.Node != "":
		p.at(append(at, "node"), "%s is virtual, and has no node", c.Name)
	case c.Kind == Host && c.Node != "":
		p.at(append(at, "node"), "%s is a host, and has no node", c.Name)
	case !virtual && len(c.Name) > MaxClusterName:
		p.at(append(at, "name"), "%s is too long: %d characters are the most", c.Name, MaxClusterName)
	}
	var names []string
	for i, s := range c.Follows {
		position := append(slices.Clone(at), "follows", strconv.Itoa(i))
		if slices.Contains(names, s.Name) {
			p.at(append(position, "name"), "%s follows two folders called %s", c.Name, s.Name)
		}
		names = append(names, s.Name)
		r, ok := known(s.Repository, append(slices.Clone(position), "repository")...)
		if ok && len(r.Branches) > 0 && !slices.ContainsFunc(r.Branches, func(b Branch) bool { return b.Name == s.Branch }) {
			var branches []string
			for _, b := range r.Branches {
				branches = append(branches, b.Name)
			}
			p.at(append(position, "branch"), "%s has no branch %s%s", s.Repository, s.Branch, nearest(s.Branch, branches))
		}
		if s.Path != "" && (path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || strings.HasPrefix(s.Path, "..")) {
			p.at(append(position, "path"), "%s is no path of a folder in the repository: write it without /, . and .. at the ends", s.Path)
		}
	}
	for i, name := range c.Repositories {
		known(name, append(slices.Clone(at), "repositories", strconv.Itoa(i))...)
	}
}

// MaxClusterName is how many characters the name of a real cluster may have. It leaves room for what the sandbox makes of a cluster's name:
// names of network interfaces apart, unix sockets and units.
const MaxClusterName = 40
