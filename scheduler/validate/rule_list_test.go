package validate

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRulesAreInOrderAndComplete(t *testing.T) {
	ids := []string{}
	for _, r := range Rules() {
		ids = append(ids, r.ID)
		if rank(r.Severity) < 0 || !strings.HasSuffix(r.Summary, ".") || r.Help == "" {
			t.Errorf("rule %+v", r)
		}
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(r.ID) {
			t.Errorf("rule %s is not in kebab case", r.ID)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("rules are not sorted, or stand twice: %v", ids)
	}
}
