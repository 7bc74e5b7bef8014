package propose

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// What a plan is compared with.
const (
	Planned = "planned" // what is planned without the edits
	Merged  = "merged"  // what is merged on the GitOps branch
	Running = "running" // what runs on the clusters; of files and values what is merged
)

// change is a file of the GitOps branch, before and after.
type change struct {
	plan.Change
	before []byte
}

// difference is what a plan changes.
type difference struct {
	files               []change // sorted by path
	before, after       map[Pair]plan.Assignment
	gained, lost, stays []Pair // stays are those that change
	same                int
	values              []ConfigChange
}

// filesOf are the files of a tree that may be missing.
func filesOf(tree *model.Tree) map[string][]byte {
	if tree == nil {
		return nil
	}
	return tree.Files
}

// fromMerged are the changes of a plan, with what is merged.
func fromMerged(o outcome) []change {
	all := make([]change, len(o.plan.Changes))
	for i, c := range o.plan.Changes {
		all[i] = change{c, filesOf(o.gitOps)[c.Path]}
	}
	return all
}

// fromPlanned are the files that differ between what two plans would leave on a branch.
func fromPlanned(before, after outcome) []change {
	merged := filesOf(after.gitOps)
	result := func(changes []plan.Change) map[string]plan.Change {
		byPath := make(map[string]plan.Change, len(changes))
		for _, c := range changes {
			byPath[c.Path] = c
		}
		return byPath
	}
	was, is := result(before.plan.Changes), result(after.plan.Changes)
	content := func(changes map[string]plan.Change, file string) (content []byte, there bool) {
		if c, changed := changes[file]; changed {
			return c.Content, c.Action != plan.Remove
		}
		content, there = merged[file]
		return content, there
	}
	paths := map[string]bool{}
	for file := range was {
		paths[file] = true
	}
	for file := range is {
		paths[file] = true
	}
	var all []change
	for _, file := range slices.Sorted(maps.Keys(paths)) {
		from, wasThere := content(was, file)
		to, isThere := content(is, file)
		c := change{plan.Change{Path: file, Content: to, Action: plan.Modify}, from}
		switch {
		case wasThere == isThere && bytes.Equal(from, to):
			continue
		case !wasThere:
			c.Action = plan.Add
		case !isThere:
			c.Action, c.Content = plan.Remove, nil
		}
		all = append(all, c)
	}
	return all
}

// compare is what an outcome with edits changes, against one of Againsts. running are the pairs
// that run.
func compare(against string, before, after outcome, running map[Pair]bool) difference {
	d := difference{before: byPair(before.plan.Assignments), after: byPair(after.plan.Assignments)}
	was := map[Pair]bool{}
	switch against {
	case Planned:
		d.files = fromPlanned(before, after)
		for pair := range d.before {
			was[pair] = true
		}
	case Merged:
		d.files, was = fromMerged(after), pairsOf(after)
	default:
		d.files, was = fromMerged(after), running
	}
	touched := map[Pair]bool{}
	for _, c := range d.files {
		if clusterType, target, ok := publish.PairOf(after.plan.GitOps.Path, c.Path); ok {
			touched[Pair{clusterType, target}] = true
		}
	}
	if against == Planned {
		d.values = fromAssignments(d.before, d.after)
	} else {
		d.values = fromFiles(after, d.files)
	}
	for _, v := range d.values {
		touched[Pair{v.ClusterType, v.Target}] = true
	}
	for _, pair := range slices.SortedFunc(maps.Keys(d.after), comparePairs) {
		switch {
		case !was[pair]:
			d.gained = append(d.gained, pair)
		case touched[pair], against == Planned && !slices.Equal(d.before[pair].Policies, d.after[pair].Policies):
			d.stays = append(d.stays, pair)
		default:
			d.same++
		}
	}
	for _, pair := range slices.SortedFunc(maps.Keys(was), comparePairs) {
		if _, stays := d.after[pair]; !stays {
			d.lost = append(d.lost, pair)
		}
	}
	return d
}

func comparePairs(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.Target, b.Target))
}

func byPair(assignments []plan.Assignment) map[Pair]plan.Assignment {
	all := make(map[Pair]plan.Assignment, len(assignments))
	for _, a := range assignments {
		all[Pair{a.ClusterType, a.Target}] = a
	}
	return all
}

// pairsOf are the assignments that are merged.
func pairsOf(o outcome) map[Pair]bool {
	all := map[Pair]bool{}
	for file := range filesOf(o.gitOps) {
		if clusterType, target, ok := publish.PairOf(o.plan.GitOps.Path, file); ok {
			all[Pair{clusterType, target}] = true
		}
	}
	return all
}

// fromAssignments are the values that differ between two plans, of assignments that both have
// and of those that one has.
func fromAssignments(before, after map[Pair]plan.Assignment) []ConfigChange {
	pairs := maps.Clone(before)
	maps.Copy(pairs, after)
	all := []ConfigChange{}
	for _, pair := range slices.SortedFunc(maps.Keys(pairs), comparePairs) {
		was, is := valuesOf(before[pair].Config), valuesOf(after[pair].Config)
		all = append(all, differing(pair, was, is)...)
	}
	return all
}

// value is one of the platform's configuration, and where it is given.
type value struct{ text, position string }

func valuesOf(config []plan.ConfigValue) map[string]value {
	all := make(map[string]value, len(config))
	for _, v := range config {
		all[v.Key] = value{v.Value, v.Source.Position.String()}
	}
	return all
}

func differing(pair Pair, was, is map[string]value) []ConfigChange {
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var all []ConfigChange
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		from, had := was[key]
		to, has := is[key]
		if had && has && from.text == to.text {
			continue
		}
		c := ConfigChange{ClusterType: pair.ClusterType, Target: pair.Target, Key: key, Place: cmp.Or(to.position, from.position)}
		if had {
			c.Before = &from.text
		}
		if has {
			c.After = &to.text
		}
		all = append(all, c)
	}
	return all
}

// fromFiles are the values that differ between files before and after, where these are
// ConfigMaps. The place of a value that will be there is that in the control plane.
func fromFiles(after outcome, files []change) []ConfigChange {
	assigned := byPair(after.plan.Assignments)
	all := []ConfigChange{}
	for _, c := range files {
		clusterType, target, ok := publish.PairOf(after.plan.GitOps.Path, c.Path)
		if stem, _, _ := strings.Cut(path.Base(c.Path), "."); !ok || stem != "platform-config" {
			continue
		}
		pair := Pair{clusterType, target}
		at := model.Position{Repo: after.plan.GitOps.Repo, Branch: after.plan.GitOps.Branch, File: c.Path}
		planned := valuesOf(assigned[pair].Config)
		read := func(content []byte) map[string]value {
			values := map[string]value{}
			for _, v := range history.ConfigIn(content, at) {
				values[v.Key] = value{v.Value, cmp.Or(planned[v.Key].position, v.Position.String())}
			}
			return values
		}
		all = append(all, differing(pair, read(c.before), read(c.Content))...)
	}
	return all
}

// unchanged is why edits change nothing of an environment, in a sentence. It names no deployment
// target but those of some workspaces; none are all.
func unchanged(ctx context.Context, made *Made, after outcome, workspaces []string) (string, error) {
	if !made.Plan.Changed {
		return "The control plane says so already.", nil
	}
	if len(made.site.planned) == 0 {
		return fmt.Sprintf("The environment takes commit %.10s of branch %s, in which it is so already.", made.site.read.Commit, made.site.ref.Branch), nil
	}
	if errors := after.report.Summary.Errors; errors > 0 && after.plan.Incomplete {
		return fmt.Sprintf("The model has %s: until they are mended, what they concern stays as it is.", clause.Count(errors, "error")), nil
	}
	for _, e := range made.Edits {
		var reason string
		var err error
		switch {
		case e.Operation != edit.SetLabel && e.Operation != edit.RemoveLabel:
		case e.Kind == v1alpha1.KindClusterType:
			reason, err = ofLabel(ctx, e, after, workspaces)
		}
		if err != nil || reason != "" {
			return reason, err
		}
	}
	return "No assignment and no generated file depends on it.", nil
}

// ofLabel is why the label of a cluster type decides nothing: no policy asks for it, or none of
// those that do selects the type for another reason, which explain knows.
func ofLabel(ctx context.Context, e edit.Edit, after outcome, workspaces []string) (string, error) {
	var asking []string
	for _, p := range after.model.Policies {
		s := plan.ClusterTypeSelector(p)
		if strings.Contains(s.CEL, e.Key) || slices.ContainsFunc(clause.Of(s), func(c clause.Clause) bool { return c.Key == e.Key }) {
			asking = append(asking, p.Name)
		}
	}
	if len(asking) == 0 {
		return fmt.Sprintf("No scheduling policy selects cluster types by the label %s.", e.Key), nil
	}
	for _, t := range after.plan.Targets {
		if len(workspaces) > 0 && !slices.Contains(workspaces, t.Workspace) {
			continue
		}
		found, err := explain.Explain(ctx, after.model, after.plan, explain.Query{Target: t.Name, ClusterType: e.Name})
		if err != nil {
			return "", err
		}
		if n := found.Nearest; n != nil && slices.Contains(asking, n.Policy) && len(n.Fails) > 0 && n.Fails[0].Miss != nil {
			return fmt.Sprintf("Policy %s does not select %s on %s: %s (%s).", n.Policy, t.Name, e.Name, n.Fails[0].Miss.Reason, n.Fails[0].Place), nil
		}
	}
	return fmt.Sprintf("What %s selects by the label %s is the same as before.", clause.List(asking), e.Key), nil
}
