package engine

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scenarios"
)

const pageScript = `# Deploy it
#
# Persona: application team
# Follows: The tutorial
#
# Why all this, in a sentence that is long enough to be broken somewhere, since
# it goes on and on.

step Push a policy
# Why it is pushed.
hint Look at the ` + "`dev`" + ` branch.
solve
clone control-plane dev
write policy.yaml control-plane/policy.yaml
edit control-plane/chart.tpl old new
pull control-plane
push control-plane 'Schedule it'
workflow run app cicd.yaml main
az k8s-configuration flux create --name qa --https-key '$TOKEN' --url $ORG_URL/gitops --cluster-name arc-cluster --scope cluster
check
repo same-yaml control-plane dev policy.yaml policy.yaml

step See what has come of it
# In several places.
needs real-pods drone
look
pr wait gitops dev 30s drone/namespace.yaml
pr files drone/namespace.yaml drone/README.md?
pr show drone/namespace.yaml
same-yaml stdout namespace.yaml
pr label promoted
measure 'push to pull request' since push
eventually 60s has-fields namespace.yaml --context drone
eventually 60s status control-plane $COMMIT 'dev environment' pending Deployed
issue open gitops 'Can''t do it' inference_url
! repo gone gitops
eventually 30s says Compliant az flux show --name dev
http get --context drone ns svc/page 9090 / Drone Dev
kubectl get pods
stdout Running

-- policy.yaml --
kind: Policy
url: https://github.com/YOUR_ORG/x
-- old --
key: a
-- new --
key: b
-- namespace.yaml --
kind: Namespace
`

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
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
		t.Errorf("%s: -want +got:\n%s", file, diff)
	}
}

func TestPage(t *testing.T) {
	info := scenarios.Parse("w", "n", []byte(pageScript))
	p := newPage(info, []byte(pageScript), tutorial("hello-world"), PageOptions{OrgURL: "http://localhost:3000/kalypso"})
	first := p.Markdown()
	golden(t, "page.md", first)
	golden(t, "page.txt", p.Terminal(60, func(kind, text string) string {
		if kind == "title" {
			return strings.ToUpper(text)
		}
		return text
	}))
	if p.Markdown() != first {
		t.Error("the second time it is another one")
	}
}

// Every word that a solve section uses is shown, and so is each file.
func TestEveryPageIsComplete(t *testing.T) {
	for _, workshop := range []string{"hello-world", "basic-inference"} {
		infos, err := tutorial(workshop).List()
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			p, err := NewPage(tutorial(workshop), info.Name, PageOptions{})
			if err != nil {
				t.Fatal(err)
			}
			page := p.Markdown()
			for i, step := range p.Info.Steps {
				if step.Has(scenarios.Solve) && len(p.rendererAt(i).actions(step)) == 0 {
					t.Errorf("%s/%s, step %d does not say what to do", workshop, info.Name, i+1)
				}
				if len(p.rendererAt(i).outcome(step)) == 0 {
					t.Errorf("%s/%s, step %d does not say what to see", workshop, info.Name, i+1)
				}
			}
			if strings.Contains(page, "https://github.com/YOUR_ORG") {
				t.Errorf("%s/%s has an address that is not filled in", workshop, info.Name)
			}
		}
	}
}

// A page can be followed in the folder of an earlier chapter, and in another.
func TestPageOfLaterChapter(t *testing.T) {
	const line = "git clone --branch dev URL/kalypso-control-plane"
	for name, want := range map[string]string{
		"onboard-app":  "```sh\ngit clone --branch main URL/kalypso-control-plane\n```",
		"schedule-dev": "```sh\n[ -d kalypso-control-plane ] || " + line + "\ngit -C kalypso-control-plane fetch\ngit -C kalypso-control-plane switch dev\n",
	} {
		p, err := NewPage(tutorial("hello-world"), name, PageOptions{OrgURL: "URL"})
		if err != nil {
			t.Fatal(err)
		}
		if page := p.Markdown(); !strings.Contains(page, want) || strings.Count(page, "`kalypso credentials`") != 1 {
			t.Errorf("%s lacks %q, or does not say once who pushes:\n%s", name, want, page)
		}
	}
}

func TestSplitLine(t *testing.T) {
	got := splitLine("\tpr  show 'it''s one' a'b c'd  # no more")
	if diff := cmp.Diff([]string{"pr", "show", "it's one", "ab cd"}, got); diff != "" {
		t.Error(diff)
	}
}
