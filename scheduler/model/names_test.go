package model

import "testing"

func TestNearest(t *testing.T) {
	fields := []string{"reconciler", "namespaceService", "configType"}
	tests := []struct{ name, want string }{
		{"reconcilr", "reconciler"},
		{"Reconciler", "reconciler"},
		{"namespaceservice", "namespaceService"},
		{"namespaceServices", "namespaceService"},
		{"configtype", "configType"},
		{"confgTpye", "configType"},
		{"reconciler", "reconciler"},
		{"colour", ""},
		{"", ""},
		{"x", ""},
	}
	for _, test := range tests {
		if got := Nearest(test.name, fields); got != test.want {
			t.Errorf("%q: %q, want %q", test.name, got, test.want)
		}
	}
	if got := Nearest("ab", nil); got != "" {
		t.Errorf("nearest of nothing: %q", got)
	}
	if got := Nearest("abcx", []string{"abcd", "abce"}); got != "abcd" {
		t.Errorf("of two equally near ones: %q", got)
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2},
	}
	for _, test := range tests {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if there, back := distance(test.a, test.b), distance(test.b, test.a); there != back {
			t.Errorf("%q to %q: %d there, %d back", test.a, test.b, there, back)
		}
	}
}

func TestStrings(t *testing.T) {
	const repo = "https://forge.test/kalypso/control.git"
	positions := map[Position]string{
		{}:                          "",
		{File: "f.yaml"}:            "f.yaml",
		{File: "f.yaml", Line: 3}:   "f.yaml:3",
		{Repo: repo, Branch: "dev"}: "control@dev",
		{Repo: repo, Branch: "dev", File: "a/f.yaml", Line: 3, Column: 5}: "control@dev:a/f.yaml:3",
		{Repo: "git@forge.test:control", Branch: "dev", File: "f"}:        "control@dev:f",
		{Repo: "https://forge.test/control/", Branch: "dev", File: "f"}:   "control@dev:f",
	}
	for position, want := range positions {
		if got := position.String(); got != want {
			t.Errorf("%#v: %q, want %q", position, got, want)
		}
	}
	references := map[Reference]string{
		{Repo: repo, Branch: "dev"}:                              "control@dev",
		{Repo: repo, Branch: "dev", Path: "."}:                   "control@dev",
		{Repo: repo, Branch: "dev", Path: "./a/"}:                "control@dev:a",
		{Repo: repo, Branch: "dev", Path: "a", Commit: "c0ffee"}: "control@c0ffee:a",
	}
	for reference, want := range references {
		if got := reference.String(); got != want {
			t.Errorf("%#v: %q, want %q", reference, got, want)
		}
	}
}

func TestCleanFolder(t *testing.T) {
	for folder, want := range map[string]string{
		"": "", ".": "", "/": "", "./": "", "a": "a", "./a": "a", "a/": "a", "/a//b/": "a/b", "../a": "a", "a/../..": "", "a/./b": "a/b",
	} {
		if got := CleanFolder(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
	for _, test := range []struct {
		file, folder string
		want         bool
	}{
		{"a/b", "", true}, {"a/b", "a", true}, {"a/b", "a/b", true}, {"ab/c", "a", false}, {"a", "a/b", false},
	} {
		if got := within(test.file, test.folder); got != test.want {
			t.Errorf("%q within %q: %v", test.file, test.folder, got)
		}
	}
}
