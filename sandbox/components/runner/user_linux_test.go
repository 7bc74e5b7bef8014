package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
)

// Steps of a runner that is root run as a user without rights, who sees nothing
// of the sandbox but what the job needs.
func TestUserOfSteps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	f := newForge(t)
	c := runnerConfig(t, f)
	token, readable, cache := filepath.Join(c.Dir, "token"), filepath.Join(c.Dir, "readable"), filepath.Join(c.Dir, "cache")
	for file, mode := range map[string]os.FileMode{token: 0o666, readable: 0o644} {
		if err := os.WriteFile(file, []byte("content of "+filepath.Base(file)), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(cache, "of root"), 0o700); err != nil { // as an earlier kalypso has left it
		t.Fatal(err)
	}
	c.Visible, c.Writable = []string{readable, filepath.Join(c.Dir, "not made yet")}, []string{cache}
	r, _ := start(t, c)
	f.give(1, `
jobs:
  j:
    steps:
      - run: |
          echo "user $(id -u) group $(id -g) groups $(id -G)"
          grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status | tr -s '\t' ' '
          cat `+readable+`; echo
          echo x > `+cache+`/x && ls -A `+cache+`
          ls `+c.Dir+` `+filepath.Dir(r.jobFolder(1))+` || echo closed
          kalypso=$(readlink "$(command -v kalypso)"); test -x "$kalypso" && echo executable
          cd /proc/$PPID
          for file in `+token+` `+string(r.records())+`/1.json mem environ fd/0 root/etc/shadow /etc/shadow; do
            cat $file > /dev/null 2>&1 && echo "open: $file"
          done
          cd - > /dev/null
          ln -s `+token+` link; mkdir -p deep/er; chmod 0 deep; echo done
`, nil)
	g := f.ended(1)
	for _, line := range []string{
		"user 61000 group 61000 groups 61000", "NoNewPrivs: 1", "CapPrm: 0000000000000000", "CapEff: 0000000000000000", "CapAmb: 0000000000000000",
		"content of readable", "x", "executable", "closed", "done",
	} {
		if !slices.Contains(g.lines, line) {
			t.Errorf("no line %q", line)
		}
	}
	if resultName(g.state.Result) != success || strings.Contains(g.log(), "\nopen: ") || strings.Contains(g.log(), "\ntoken") || strings.Contains(g.log(), "\ntasks") {
		t.Errorf("%s:\n%s", g.state.Result, g.log())
	}
	waitFor(t, "removal of the job's files", 5*time.Second, func() error {
		_, err := os.Stat(r.jobFolder(1))
		if os.IsNotExist(err) {
			return nil
		}
		return os.ErrExist
	})
	if b, err := os.ReadFile(token); err != nil || string(b) != "content of token" {
		t.Errorf("the sandbox's file: %q, %v", b, err)
	}

	// a summary is read by the runner's own code
	f.give(2, "jobs: {j: {steps: [{run: 'ln -sf "+token+" $GITHUB_STEP_SUMMARY'}, {run: mkfifo x && mv x $GITHUB_STEP_SUMMARY}]}}", func(*runnerv1.Task) {})
	if g := f.ended(2); resultName(g.state.Result) != success || strings.Contains(g.log(), "content of token") {
		t.Errorf("%s:\n%s", g.state.Result, g.log())
	}
}
