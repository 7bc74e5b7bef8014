package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// What an application's team writes ends in files that clusters obey, so it must
// not be able to say more there than the platform's templates let it say. Labels,
// manifests and names are single lines (here), no template reads them as a
// template (see taint.go), and no document's structure depends on them (see
// structure.go).

// unwritable returns the first character of a text that must not stand in
// generated files: control characters, among which are all that end a line or
// begin a terminal's sequences, Unicode's own line ends, and what YAML cannot
// hold. It returns -1 when there is none.
func unwritable(s string) rune {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return unwritableRune(s[i:])
		}
	}
	return -1
}

func unwritableRune(s string) rune {
	for i, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point) || r == '\ufeff' {
			return r
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			return r
		}
	}
	return -1
}

// textProblems finds what a target's labels and manifests must not hold.
func textProblems(t *target, workload *model.Workload, path []string) []Problem {
	if !anyUnwritable(t.Labels) && !anyUnwritable(t.manifests) && !anyUnwritable(workload.Spec.DeploymentTargets[t.index].Labels) {
		return nil
	}
	var problems []Problem
	check := func(what, text string, at func() model.Position) {
		if r := unwritable(text); r >= 0 {
			problems = append(problems, Problem{
				Reason: InvalidText, Severity: model.Error, Position: at(),
				Message: fmt.Sprintf("deployment target %s: %s holds the character %U", t.Name, what, r),
				Hint:    "write it in one line, without control characters",
			})
		}
	}
	for _, texts := range []struct {
		what   string
		values map[string]string
		path   []string
	}{
		{"label", workload.Labels, []string{"metadata", "labels"}},
		{"label", workload.Spec.DeploymentTargets[t.index].Labels, append(slices.Clone(path), "labels")},
		{"manifests field", t.manifests, append(slices.Clone(path), "manifests")},
	} {
		for _, key := range slices.Sorted(maps.Keys(texts.values)) {
			at := func() model.Position { return workload.At(append(slices.Clone(texts.path), key)...) }
			check(fmt.Sprintf("%s %q", texts.what, key), key+texts.values[key], at)
		}
	}
	check("its workspace", t.Workspace, func() model.Position { return workload.Registration.At("spec", "workspace") })
	return problems
}

func anyUnwritable(texts map[string]string) bool {
	for key, value := range texts {
		if unwritable(key) >= 0 || unwritable(value) >= 0 {
			return true
		}
	}
	return false
}

// said returns where a workload says a text, or the target's place where that
// cannot be told because a template has changed the text.
func (t *target) said(text string) model.Position {
	holds := func(s string) bool { return strings.Contains(s, text) || len(s) > 3 && strings.Contains(text, s) }
	path := []string{"spec", "deploymentTargets", fmt.Sprint(t.index)}
	for _, texts := range []struct {
		values map[string]string
		path   []string
	}{
		{t.manifests, append(slices.Clone(path), "manifests")},
		{t.object.Spec.DeploymentTargets[t.index].Labels, append(slices.Clone(path), "labels")},
		{t.object.Labels, []string{"metadata", "labels"}},
	} {
		for _, key := range slices.Sorted(maps.Keys(texts.values)) {
			if holds(texts.values[key]) || holds(key) {
				return t.object.At(append(texts.path, key)...)
			}
		}
	}
	return t.Position
}
