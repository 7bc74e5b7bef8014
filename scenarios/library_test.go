package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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
	l := Library{Workshop: "w", Ordered: []string{"onboard-app"}, Files: fstest.MapFS{}}
	for _, name := range []string{"onbord-app", "../onboard-app"} {
		var unknown *UnknownError
		if _, err := l.Source(name); !errors.As(err, &unknown) || unknown.Name != name || !slices.Contains(unknown.Choice, "onboard-app") {
			t.Errorf("error %v", err)
		}
	}
}
