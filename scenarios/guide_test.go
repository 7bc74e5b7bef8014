package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The guides in docs are what the scenarios say now. `make docs` is this test
// with -update.
func TestGuides(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		got, err := Guide(workshop)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "docs", workshop+".md")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("docs/%s.md is not current, run `make docs`: -want +got:\n%s", workshop, diff)
		}
	}
}

// What only a run or a program understands is not left in a guide.
func TestGuidesAreForPeople(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		text, err := Guide(workshop)
		if err != nil {
			t.Fatal(err)
		}
		for _, strange := range []string{placeholder, "$ORG_URL", "$COMMIT", "$MERGE_COMMIT", "merged=too", "eventually", `\.`, "%!"} {
			if strings.Contains(text, strange) {
				t.Errorf("the guide of %s says %q", workshop, strange)
			}
		}
		infos, err := List(workshop)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			for _, step := range info.Steps {
				if !strings.Contains(text, " "+step.Title+"\n") {
					t.Errorf("the guide of %s has no step %q", workshop, step.Title)
				}
			}
			if n := strings.Count(text, "]("+anchor(chapterTitle(indexOf(infos, info.Name)+1, info))+")"); n != 1 {
				t.Errorf("the guide of %s has %d links to %s", workshop, n, info.Name)
			}
		}
	}
}

func indexOf(infos []Info, name string) int {
	for i, info := range infos {
		if info.Name == name {
			return i
		}
	}
	return -1
}

func TestGuideOfUnknownWorkshop(t *testing.T) {
	if _, err := Guide("nothing"); err == nil || !strings.Contains(err.Error(), `no workshop "nothing"`) {
		t.Error(err)
	}
}

const guideScript = `# Deploy it
#
# Persona: application team
# Follows: The tutorial
#
# Why all this.

step Push it
# Why it is pushed.
hint Look at the branch.
solve
clone app main
write app.yaml app/config/app.yaml
edit app/chart.tpl old new
push app 'Deploy it'
clone app dev
pull app
workflow run app cicd.yaml main
workflow wait app cicd.yaml main 60s
exec sleep 1
az flux create --https-key '$TOKEN' --url $ORG_URL/gitops
pr wait gitops dev 60s app.yaml
pr merge
check
repo same-yaml app main config/app.yaml app.yaml
repo same-yaml app main config/app.yaml app.yaml
pr wait gitops dev 0s merged=too app.yaml
pr merged

step See it
needs real-pods drone
look
repo same-yaml app main config/app.yaml app.yaml
eventually 60s status app $COMMIT 'dev environment' pending Deployed
pr wait gitops stage 30s app.yaml
measure 'push to pull request' since push
pr files app.yaml README.md?
pr show app.yaml
same-yaml stdout other.yaml
stdout 'image: .*/app:0\.0\.1-[1-9]'
pr label promoted
! pr wait gitops stage 1s nothing.yaml
! says 'commit: '$COMMIT repo show app stage base.yaml
has-fields app.yaml --context drone
has-fields new.yaml
issue open app 'Can''t do it' a_key
issue closed app 'Can''t do it'
workflow wait app cicd.yaml main 10s
eventually 30s ! says Non-Compliant az flux show --name dev
eventually 30s ! kubectl --context drone get namespace gone
http get --context drone ns svc/page 9090 / Drone
repo gone old

-- app.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
  namespace: ns
data:
  url: https://github.com/YOUR_ORG/x
  cost: "$5"
-- old --
a: 1
b: 2
c: 3
-- new --
a: 1
b: 4
c: 3
-- other.yaml --
kind: Other
-- new.yaml --
kind: Namespace
metadata:
  name: ns
`

// Every word has a form for people.
func TestGuideChapter(t *testing.T) {
	text := []byte(guideScript)
	info := describe("w", "deploy", text)
	g := &guide{cloned: map[string]bool{}}
	if err := g.chapter(1, info, newPage(info, text, guideOrg).files); err != nil {
		t.Fatal(err)
	}
	golden(t, "guide.md", strings.TrimRight(g.text.String(), "\n")+"\n")
}

// What has no form for people is not left out silently.
func TestGuideRefusesWhatItCannotSay(t *testing.T) {
	for _, lines := range []string{"solve\nissue open app x", "solve\npr merge", "look\nexists file", "look\n! http get ns svc/page 80 /"} {
		text := []byte("# T\n\nstep S\n" + lines + "\n")
		info := describe("w", "n", text)
		g := &guide{cloned: map[string]bool{}}
		if err := g.chapter(1, info, nil); err == nil || !strings.Contains(err.Error(), "line 5") {
			t.Errorf("%q: %v", lines, err)
		}
	}
}
