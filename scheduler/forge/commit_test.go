package forge_test

import (
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

func TestValidate(t *testing.T) {
	change := func(paths ...string) []forge.Change {
		var list []forge.Change
		for _, p := range paths {
			list = append(list, forge.Change{Path: p, Content: []byte("x")})
		}
		return list
	}
	for name, test := range map[string]struct {
		request forge.CommitRequest
		ok      bool
	}{
		"own branch":              {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("x/y.yaml", ".github/z")}, true},
		"own branch, with lease":  {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Expect: "b", Changes: change("x")}, true},
		"a user's branch":         {forge.CommitRequest{Branch: "main", Parent: "a", Expect: "a", Changes: change("x")}, false},
		"the prefix alone":        {forge.CommitRequest{Branch: "kalypso/", Parent: "a", Changes: change("x")}, false},
		"fast-forward":            {forge.CommitRequest{Branch: "dev", Parent: "a", Expect: "a", FastForward: true, Changes: change("x")}, true},
		"fast-forward off parent": {forge.CommitRequest{Branch: "dev", Parent: "a", Expect: "b", FastForward: true, Changes: change("x")}, false},
		"fast-forward of any":     {forge.CommitRequest{Branch: "dev", Parent: "a", FastForward: true, Changes: change("x")}, false},
		"no parent":               {forge.CommitRequest{Branch: "kalypso/dev", Changes: change("x")}, false},
		"no branch":               {forge.CommitRequest{Parent: "a", Changes: change("x")}, false},
		"no changes":              {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a"}, false},
		"twice":                   {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("x", "x")}, false},
		"up":                      {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("../x")}, false},
		"absolute":                {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("/x")}, false},
		"not clean":               {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("x//y")}, false},
		"backslash":               {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change(`x\y`)}, false},
		"git's own folder":        {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("x/.Git/config")}, false},
		"empty":                   {forge.CommitRequest{Branch: "kalypso/dev", Parent: "a", Changes: change("")}, false},
	} {
		if err := test.request.Validate(); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSubject: a pull request's commits and a branch's are the same by what forges and git make of the
// first line.
func TestSubject(t *testing.T) {
	for message, want := range map[string]string{"One\n\nTwo\n": "One", "\n One \r\n\r\nTwo": "One", "One": "One", "": ""} {
		if got := forge.Subject(message); got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}
