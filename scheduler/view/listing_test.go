package view

import (
	"strings"
	"testing"
)

func TestKinds(t *testing.T) {
	taken := map[string]string{}
	for _, k := range Kinds() {
		for _, name := range append([]string{k.Name}, k.others...) {
			if taken[name] != "" {
				t.Errorf("%s stands for %s and %s", name, taken[name], k.Name)
			}
			taken[name] = k.Name
			for _, spelled := range []string{name, strings.ToUpper(name)} {
				if got, err := FindKind(spelled); err != nil || got.Name != k.Name {
					t.Errorf("%s: %v, %v", spelled, got, err)
				}
			}
		}
	}
	for name, near := range map[string]string{"environmnts": "environments", "asignment": "assignment", "deploymenttargts": "deploymenttargets"} {
		if _, err := FindKind(name); err == nil || !strings.Contains(err.Error(), "did you mean "+near+"?") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
