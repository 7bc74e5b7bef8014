package docgen

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/kalypso-dev/kalypso/workshop"
)

var update = flag.Bool("update", false, "rewrite docs and golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
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
		t.Errorf("%s is not current, run `make docs`: -want +got:\n%s", file, diff)
	}
}

func tutorial(t *testing.T, name string) *workshop.Workshop {
	t.Helper()
	w, err := workshop.OpenBuiltin(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func testGuide(t *testing.T, workshop string) string {
	t.Helper()
	text, err := Guide(tutorial(t, workshop))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The pages in docs are what the product says now: `make docs` is this test with
// -update.
func TestDocs(t *testing.T) {
	for _, workshop := range workshop.Builtin() {
		golden(t, filepath.Join("..", "..", "docs", workshop+".md"), testGuide(t, workshop))
	}
	golden(t, filepath.Join("..", "..", "docs", "scenario-commands.md"), ScenarioCommands())
}

// What only a run understands is not left in a guide.
func TestGuidesAreForReaders(t *testing.T) {
	for _, workshop := range workshop.Builtin() {
		text := testGuide(t, workshop)
		for _, internal := range []string{"YOUR_ORG", "$ORG_URL", "$COMMIT", "$MERGE_COMMIT", "merged=too", "eventually", `\.`, "%!"} {
			if strings.Contains(text, internal) {
				t.Errorf("the guide of %s has %q", workshop, internal)
			}
		}
		library, err := scenarios.Of(tutorial(t, workshop))
		if err != nil {
			t.Fatal(err)
		}
		infos, err := library.List()
		if err != nil {
			t.Fatal(err)
		}
		for i, info := range infos {
			for _, step := range info.Steps {
				if !strings.Contains(text, " "+step.Title+"\n") {
					t.Errorf("the guide of %s has no step %q", workshop, step.Title)
				}
			}
			if n := strings.Count(text, "]("+anchor(chapterTitle(i+1, info))+")"); n != 1 {
				t.Errorf("the guide of %s has %d links to %s", workshop, n, info.Name)
			}
		}
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

func testChapter(t *testing.T, text string) (string, error) {
	t.Helper()
	library := scenarios.Library{Workshop: "w", Ordered: []string{"deploy"}, Addresses: tutorial(t, "hello-world").Addresses, Files: fstest.MapFS{"deploy.txtar": {Data: []byte(text)}}}
	page, err := engine.NewPage(library, "deploy", engine.PageOptions{OrgURL: guideOrg, Sequential: true})
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{}
	err = g.chapter(1, page.Info, page)
	return strings.TrimRight(g.text.String(), "\n") + "\n", err
}

// Every command has a form for readers.
func TestGuideChapter(t *testing.T) {
	text, err := testChapter(t, guideScript)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "guide.md"), text)
}

// What has no form for readers is not left out.
func TestGuideRefusesUnknownCommands(t *testing.T) {
	for _, lines := range []string{"solve\nissue open app x", "solve\npr merge", "look\nexists file", "look\n! http get ns svc/page 80 /"} {
		if _, err := testChapter(t, "# T\n\nstep S\n"+lines+"\n"); err == nil {
			t.Errorf("%q: no error", lines)
		}
	}
}
