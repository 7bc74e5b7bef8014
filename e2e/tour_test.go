//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tourWorkflow uses what the tutorials' own workflows do not.
const tourWorkflow = `name: tour
on:
  workflow_dispatch:
    inputs:
      greeting:
        required: true
        type: string
jobs:
  first:
    runs-on: ubuntu-latest
    outputs:
      word: ${{ steps.say.outputs.word }}
    steps:
      - id: say
        run: echo "word=${{ inputs.greeting }}-and-on" >> "$GITHUB_OUTPUT"
      - name: Print a secret
        run: |
          echo "the token is ${{ secrets.CD_TOKEN }}, or ${TOKEN:0:20} and ${TOKEN:20}"
          echo "encoded it is $(printf %s "$TOKEN" | base64 -w 0)"
        env:
          TOKEN: ${{ secrets.CD_TOKEN }}
  second:
    needs: first
    runs-on: ubuntu-latest
    environment: dev
    steps:
      - run: echo "received ${{ needs.first.outputs.word }}, next is ${{ vars.NEXT_ENVIRONMENT }}, home is $HOME"
      - name: Look at the sandbox's files
        run: |
          echo "the user is $(id -u) with groups $(id -G)"
          for file in sandbox.json kubeconfig gitea/tokens/platform gitea/app.ini runner/config.json runner/identity.json runner/tasks clusters; do
            if test -e "${HOME%/runner/jobs/*}/$file"; then echo "seen: $file"; fi
          done
          for file in mem environ fd/0; do
            if cat "/proc/$PPID/$file" >/dev/null 2>&1; then echo "seen: $file of the runner"; fi
          done
  long:
    runs-on: ubuntu-latest
    steps:
      - timeout-minutes: 0.02
        run: sleep 600
      - if: failure()
        run: echo "it took too long"
`

// tour runs a workflow of a user's own: inputs, outputs, secrets, the
// variables of an environment, and a step that takes too long.
func tour(t *testing.T, m *machine) {
	m.push(manifests, "main", map[string]string{".github/workflows/tour.yaml": tourWorkflow})
	waitFor(t, "start of the tour", chainLimit, func() error {
		_, err := m.tryForge(http.MethodPost, "repos/kalypso/"+manifests+"/actions/workflows/tour.yaml/dispatches",
			`{"ref": "main", "inputs": {"greeting": "hello"}}`)
		return err
	})
	run := m.waitForRun(manifests, "tour.yaml", func(r workflowRun) error {
		if r.Status != "completed" {
			return fmt.Errorf("it is %s", r.Status)
		}
		return nil
	})
	if run.Conclusion != "failure" {
		t.Errorf("a run with a step that took too long has ended with %s", run.Conclusion)
	}
	log := m.log(manifests, run.ID)
	for _, want := range []string{"the token is ***, or ", "encoded it is ***", "received hello-and-on, next is stage, home is ", "it took too long", "the step has not ended after 1.2s"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(log, "home is "+filepath.Join(m.dir, "user")+"\n") {
		t.Error("a job works in the user's own home")
	}
	if os.Geteuid() == 0 {
		if !regexp.MustCompile(`the user is (6[01]\d{3}) with groups (\d+)\n`).MatchString(log) {
			t.Error("the job does not run as a user of its own")
		}
		for _, seen := range regexp.MustCompile(`(?m)seen: [a-z].*$`).FindAllString(log, -1) {
			t.Errorf("the job reads the sandbox's files: %s", seen)
		}
	}
	if t.Failed() {
		t.Logf("%s", log)
	}
}

// noSecrets looks for tokens in the logs of all runs so far.
func noSecrets(t *testing.T, m *machine) {
	tokens, err := filepath.Glob(filepath.Join(m.home, "gitea", "tokens", "*"))
	if err != nil || len(tokens) < 4 {
		t.Fatalf("tokens: %q, %v", tokens, err)
	}
	runs := 0
	for _, r := range m.repositories() {
		for _, run := range m.runs(r.Name) {
			runs++
			log := m.log(r.Name, run.ID)
			for _, file := range tokens {
				token, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(log, string(token)) {
					t.Errorf("%s has the token %s", run.URL, filepath.Base(file))
				}
			}
		}
	}
	if runs < 10 {
		t.Errorf("there are only %d runs", runs)
	}
}
