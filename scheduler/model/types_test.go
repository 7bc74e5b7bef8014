package model_test

import (
	"encoding/json"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestPositionAsJSON is about what scripts read: a field that is there is known.
func TestPositionAsJSON(t *testing.T) {
	for _, test := range []struct {
		position model.Position
		want     string
	}{
		{model.Position{Repo: "https://forge.test/control", Branch: "dev", File: "a.yaml", Line: 3, Column: 5},
			`{"repo":"https://forge.test/control","branch":"dev","file":"a.yaml","line":3,"column":5}`},
		{model.Position{Repo: "/home/me/control", Branch: "dev", File: "a.yaml"}, `{"repo":"/home/me/control","branch":"dev","file":"a.yaml"}`},
		{model.Position{Repo: "/home/me/control", Branch: "dev"}, `{"repo":"/home/me/control","branch":"dev"}`},
		{model.Position{}, `{}`},
	} {
		if got, err := json.Marshal(test.position); err != nil || string(got) != test.want {
			t.Errorf("%v is %s (%v), want %s", test.position, got, err, test.want)
		}
	}
}
