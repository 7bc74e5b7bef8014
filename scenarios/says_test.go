package scenarios

import (
	"slices"
	"strings"
	"testing"
)

// A text is looked for anywhere in what a word prints, so that the name of a
// state that is a part of another one's is no text to look for.
func TestComplianceIsToldApart(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		all, err := List(workshop)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range all {
			for _, step := range info.Steps {
				for _, l := range slices.Concat(step.sections[check], step.sections[look]) {
					args := splitLine(l.text)
					i := slices.Index(args, "says")
					if i >= 0 && strings.Contains(l.text, "complianceState") && strings.HasPrefix(args[i+1], "Compliant") {
						t.Errorf("%s/%s.txtar:%d: %q is found in Non-Compliant, too: have the name printed before the state",
							workshop, info.Name, l.number, args[i+1])
					}
				}
			}
		}
	}
}
