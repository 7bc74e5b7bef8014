package ci_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
)

func TestParseDockerfile(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want ci.Recipe
	}{
		"the smallest": {"FROM scratch\n", ci.Recipe{From: "scratch"}},
		"names of a stage and of an instruction in any case": {"from alpine:3 AS run\nuser 1\n", ci.Recipe{From: "alpine:3", User: "1"}},
		"folders and files": {
			"FROM a\nCOPY x /x\nCOPY a b c\nCOPY [\"with space\", \"/to/\"]\nWORKDIR /srv\nWORKDIR www\nCOPY . .\nCOPY page ./site/\n",
			ci.Recipe{From: "a", WorkingDir: "/srv/www", Copies: []ci.Copy{
				{Sources: []string{"x"}, To: "/x", Line: 2},
				{Sources: []string{"a", "b"}, To: "/c/", Line: 3},
				{Sources: []string{"with space"}, To: "/to/", Line: 4},
				{Sources: []string{"."}, To: "/srv/www", Line: 7},
				{Sources: []string{"page"}, To: "/srv/www/site/", Line: 8},
			}},
		},
		"settings": {
			"# a comment\n\nFROM a\nENV A=1 B=\"two words\" \\\n    # between\n    C=3\nENV D the rest\nLABEL org=x\nEXPOSE 80 53/udp\n",
			ci.Recipe{From: "a", Env: []string{"A=1", "B=two words", "C=3", "D=the rest"}, Labels: map[string]string{"org": "x"}, Ports: []string{"80/tcp", "53/udp"}},
		},
		"a command of the base goes when the entry point is new": {
			"FROM a\r\nCMD [\"b\"]\r\nENTRYPOINT [\"/c\", \"$HOME\"]\r\n", ci.Recipe{From: "a", Entrypoint: []string{"/c", "$HOME"}},
		},
		"the shell form": {"FROM a\nCMD run me\n", ci.Recipe{From: "a", Command: []string{"/bin/sh", "-c", "run me"}}},
	} {
		got, err := ci.ParseDockerfile("Dockerfile", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Labels) == 0 {
			got.Labels = nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDockerfilesThatNeedAnEngine(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "there is no FROM",
		"COPY a b\n":                  "D:1: COPY comes ahead of FROM",
		"FROM a\n\nRUN make\n":        "D:3: RUN is not possible without a container engine",
		"FROM a\nFROM b\n":            "D:2: a second FROM",
		"FROM --platform=x a\n":       "without flags",
		"FROM a b\n":                  "name one image",
		"FROM a\nCOPY --from=b x y\n": "without flags",
		"FROM a\nCOPY x\n":            "give sources and a destination",
		"FROM a\nCOPY [x\n":           "D:2: COPY [x",
		"FROM a\nCOPY $X /x\n":        "D:2: COPY has a variable",
		"FROM a\nENV A\n":             `"A" has no value`,
		"FROM a\nENV A=1 B\n":         `"B" is not of the form NAME=VALUE`,
		"FROM a\nENV A=\"1\n":         "does not end",
		"FROM a\nENTRYPOINT [1]\n":    "is no list of texts",
		"FROM a\nENTRYPOINT []\n":     "is no list of texts",
		"FROM a\nUSER\n":              "USER says nothing",
		"FROM a\nFETCH x\n":           `"FETCH" is no instruction`,
	} {
		_, err := ci.ParseDockerfile("D", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseDockerfile expects an error or a recipe whose files lie in the image.
func FuzzParseDockerfile(f *testing.F) {
	f.Add("FROM scratch\nCOPY a ../../b\nENV A=\"x\nWORKDIR ..\n")
	f.Add("FROM a\\\nCOPY [\"\\u0000\", \"/\"]")
	f.Fuzz(func(t *testing.T, text string) {
		recipe, err := ci.ParseDockerfile("D", []byte(text))
		if err != nil {
			return
		}
		if recipe.From == "" {
			t.Error("no base")
		}
		for _, c := range recipe.Copies {
			if !strings.HasPrefix(c.To, "/") || strings.Contains(c.To+"/", "/../") || len(c.Sources) == 0 {
				t.Errorf("%+v", c)
			}
		}
	})
}
