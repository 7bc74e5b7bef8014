package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	info := Parse("w", "n", []byte(`# The title
#
# Persona: platform team
# Follows: One; Two
#
# First line,
# second line.
#
# Another: paragraph.

step One thing
# Why it
# is done.
exec true

# Of its own.
step 'Another''s'
-- file --
step no
`))
	if info.Title != "The title" || info.Persona != "platform team" || info.Follows != "One; Two" {
		t.Errorf("%+v", info)
	}
	if want := "First line, second line.\n\nAnother: paragraph."; info.Explanation != want {
		t.Errorf("explanation %q", info.Explanation)
	}
	if len(info.Steps) != 2 || info.Steps[0].Title != "One thing" || !strings.HasPrefix(info.Steps[0].Explanation, "Why it is done.") {
		t.Errorf("steps %+v", info.Steps)
	}
}

func TestUnknown(t *testing.T) {
	var unknown *UnknownError
	if _, err := Tutorials.List("nothing"); !errors.As(err, &unknown) || unknown.Kind != "workshop" || !slices.Contains(unknown.Choice, "basic-inference") {
		t.Errorf("error %v", err)
	}
	if _, err := Tutorials.Source("basic-inference", "../nothing"); !errors.As(err, &unknown) || unknown.Kind != "scenario" {
		t.Errorf("error %v", err)
	}
	if _, err := Tutorials.Source("../basic-inference", "onboard-app"); !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
}
