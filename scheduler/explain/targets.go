package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// InputError says that a question cannot be answered the way it was asked.
type InputError struct {
	Message string // what is wrong
	Hint    string // what to do
	// What and Candidates are what could have been asked for, and the names
	// there are, sorted.
	What       string
	Candidates []string
	// NoTarget says that no deployment target has the name that was asked for.
	NoTarget bool
	// Diagnostics are what may have kept out of the model what was asked for.
	Diagnostics []model.Diagnostic
}

func (e *InputError) Error() string { return e.Message }

// maxCandidates bounds how many names a text lists.
const maxCandidates = 20

// Text is the error for users, with all that it knows.
func (e *InputError) Text() string {
	t := &text{e: &Explanation{}}
	t.section("%s", e.Message)
	if e.Hint != "" {
		t.line(0, 0, e.Hint)
	}
	if len(e.Candidates) == 0 {
		t.line(0, 0, "there are no "+e.What)
	} else {
		t.section("%s:", strings.ToUpper(e.What[:1])+e.What[1:])
		for _, name := range e.Candidates[:min(len(e.Candidates), maxCandidates)] {
			t.line(2, 2, name)
		}
		if rest := len(e.Candidates) - maxCandidates; rest > 0 {
			t.line(2, 2, fmt.Sprintf("and %d more", rest))
		}
	}
	t.errors("What cannot be read, and may be what you look for", problemsOf(e.Diagnostics))
	return strings.TrimSuffix(t.String(), "\n")
}

func (x *explainer) target(asked string) (*target, error) {
	named := func(matches func(t *target) bool) []*target {
		var found []*target
		for _, t := range x.targets {
			if matches(t) {
				found = append(found, t)
			}
		}
		return found
	}
	ways := []func(t *target) bool{
		func(t *target) bool { return t.Name == asked },
		func(t *target) bool { return t.Workload+"/"+t.shortName() == asked },
		func(t *target) bool { return t.shortName() == asked },
	}
	for _, way := range ways {
		switch found := named(way); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return nil, x.ambiguous(asked, found)
		}
	}
	return nil, x.noTarget(asked)
}

func (x *explainer) ambiguous(asked string, found []*target) *InputError {
	e := &InputError{
		Message: fmt.Sprintf("%s is the name of %d deployment targets in %s", asked, len(found), x.env.Name),
		Hint:    fmt.Sprintf("name the workload too, as in %s/%s", found[0].Workload, found[0].shortName()),
		What:    "targets of this name",
	}
	for _, t := range found {
		e.Candidates = append(e.Candidates, t.Workload+"/"+t.shortName())
	}
	if found[0].Name == found[1].Name {
		e.Hint += "; and rename one, for until then none of them gets anything"
	}
	return e
}

func (x *explainer) noTarget(asked string) *InputError {
	e := &InputError{
		Message: fmt.Sprintf("there is no deployment target %s in %s", asked, x.env.Name),
		What:    "deployment targets of " + x.env.Name,

		NoTarget: true,
	}
	var shortNames []string
	for _, t := range x.targets {
		e.Candidates = append(e.Candidates, t.Name)
		shortNames = append(shortNames, t.shortName())
	}
	e.Candidates = slices.Compact(e.Candidates)
	if environments := x.environmentsOf(asked); len(environments) > 0 {
		e.Message = fmt.Sprintf("%s is a deployment target of %s, not of %s", asked, strings.Join(environments, " and "), x.env.Name)
		e.Hint = fmt.Sprintf("ask for the environment %s, or correct the target's environment in its workload", environments[0])
		return e
	}
	e.Diagnostics = x.blockers(asked)
	switch {
	case slices.ContainsFunc(x.env.ClusterTypes, func(c model.ClusterType) bool { return c.Name == asked }):
		e.Hint = asked + " is a cluster type: the deployment target comes first"
	case slices.ContainsFunc(x.targets, func(t *target) bool { return t.Workload == asked }):
		e.Hint = asked + " is a workload: ask for one of its deployment targets"
	default:
		e.Hint = model.Suggest(asked, append(slices.Clone(e.Candidates), shortNames...), "")
	}
	return e
}

// environmentsOf returns the other environments that a target is of, sorted.
func (x *explainer) environmentsOf(asked string) []string {
	var found []string
	for _, workload := range x.env.Workloads {
		for _, spec := range workload.Spec.DeploymentTargets {
			if slices.Contains([]string{workload.Name + "-" + spec.Name, workload.Name + "/" + spec.Name, spec.Name}, asked) {
				found = append(found, spec.Environment)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (x *explainer) clusterType(asked string) (model.ClusterType, error) {
	e := &InputError{
		Message: fmt.Sprintf("there is no cluster type %s in %s", asked, x.env.Name),
		What:    "cluster types of " + x.env.Name,
	}
	for _, c := range x.env.ClusterTypes {
		if c.Name == asked {
			return c, nil
		}
		e.Candidates = append(e.Candidates, c.Name)
	}
	slices.Sort(e.Candidates)
	e.Hint = model.Suggest(asked, e.Candidates, "")
	e.Diagnostics = slices.DeleteFunc(model.Errors(x.env.Diagnostics), func(d model.Diagnostic) bool {
		return slices.ContainsFunc(x.env.Registrations, func(r model.WorkloadRegistration) bool { return concerns(d, r) })
	})
	return model.ClusterType{}, e
}
