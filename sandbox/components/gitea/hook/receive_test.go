package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// gitea answers the internal API and remembers what was reported to it.
type gitea struct {
	paths  []string
	bodies []options
	status int
	answer string
}

func (g *gitea) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var o options
	if r.Header.Get("X-Gitea-Internal-Auth") != "Bearer s3cret" || json.NewDecoder(r.Body).Decode(&o) != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	g.paths, g.bodies = append(g.paths, r.URL.Path), append(g.bodies, o)
	w.WriteHeader(g.status)
	fmt.Fprint(w, g.answer)
}

func pushed(t *testing.T, g *gitea, input string, env map[string]string) (hook, *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	all := map[string]string{"GITEA_REPO_USER_NAME": "kalypso", "GITEA_REPO_NAME": "r", "GITEA_PUSHER_ID": "7", "GITEA_PUSHER_NAME": "platform", "GIT_QUARANTINE_PATH": "/q"}
	for k, v := range env {
		all[k] = v
	}
	talk := &strings.Builder{}
	return hook{
		settings: settings{URL: server.URL + "/", Token: "s3cret"},
		env:      func(name string) string { return all[name] }, in: strings.NewReader(input), talk: talk,
	}, talk
}

const line = "0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 refs/heads/main\n"

func TestPreReceiveAsksGitea(t *testing.T) {
	g := &gitea{status: http.StatusOK, answer: "ok"}
	h, _ := pushed(t, g, line, map[string]string{"GITEA_DEPLOY_KEY_ID": "3"})
	if err := h.preReceive(); err != nil {
		t.Fatal(err)
	}
	want := options{
		OldCommitIDs: []string{strings.Repeat("0", 40)}, NewCommitIDs: []string{strings.Repeat("1", 40)}, RefFullNames: []string{"refs/heads/main"},
		UserID: 7, GitQuarantinePath: "/q", GitPushOptions: map[string]string{}, DeployKeyID: 3,
	}
	if len(g.bodies) != 1 || !reflect.DeepEqual(g.bodies[0], want) || g.paths[0] != "/api/internal/hook/pre-receive/kalypso/r" {
		t.Errorf("%v %+v", g.paths, g.bodies)
	}
}

func TestARefusalIsShownAsGiteaWordsIt(t *testing.T) {
	g := &gitea{status: http.StatusForbidden, answer: `{"err":"e","user_msg":"branch main is protected"}`}
	h, _ := pushed(t, g, line, nil)
	if err := h.preReceive(); err == nil || err.Error() != "branch main is protected" {
		t.Error(err)
	}
	g.answer = "<html>"
	h, _ = pushed(t, g, line, nil)
	if err := h.preReceive(); err == nil || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
	h.URL = "http://127.0.0.1:1/"
	h.in = strings.NewReader(line)
	if err := h.preReceive(); err == nil {
		t.Error("a push was allowed that nobody was asked about")
	}
}

func TestManyRefsGoInBatches(t *testing.T) {
	g := &gitea{status: http.StatusOK, answer: "{}"}
	h, _ := pushed(t, g, strings.Repeat(line, 2*batch+1), nil)
	if err := h.preReceive(); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, b := range g.bodies {
		sizes = append(sizes, len(b.RefFullNames))
	}
	if !reflect.DeepEqual(sizes, []int{batch, batch, 1}) {
		t.Errorf("batches %v", sizes)
	}
}

func repository(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(dir)
}

func TestPostReceiveReportsAndShows(t *testing.T) {
	repository(t)
	g := &gitea{status: http.StatusOK, answer: `{"Results":[{"Message":true,"Create":true,"Branch":"b","URL":"http://x/compare"},{"Message":true,"Branch":"c","URL":"http://x/pulls/1"},{"Branch":"d","URL":"http://x/d"}],"RepoWasEmpty":true}`}
	h, talk := pushed(t, g, line, map[string]string{"GITEA_PUSH_TRIGGER": "pr-merge"})
	if err := h.postReceive(); err != nil {
		t.Fatal(err)
	}
	if len(g.paths) != 1 || g.paths[0] != "/api/internal/hook/post-receive/kalypso/r" || g.bodies[0].UserName != "platform" || g.bodies[0].PushTrigger != "pr-merge" {
		t.Errorf("%v %+v", g.paths, g.bodies)
	}
	if got := talk.String(); !strings.Contains(got, "http://x/compare") || !strings.Contains(got, "http://x/pulls/1") || strings.Contains(got, "http://x/d") {
		t.Errorf("shown: %q", got)
	}
	if _, err := os.Stat("info/refs"); err != nil {
		t.Error("git update-server-info was not run:", err)
	}
}

func TestAFirstPushOfMasterMakesItTheDefault(t *testing.T) {
	repository(t)
	g := &gitea{status: http.StatusOK, answer: `{"RepoWasEmpty":true}`}
	h, _ := pushed(t, g, strings.Replace(line, "main", "master", 1), nil)
	if err := h.postReceive(); err != nil {
		t.Fatal(err)
	}
	if len(g.paths) != 2 || g.paths[1] != "/api/internal/hook/set-default-branch/kalypso/r/master" {
		t.Errorf("%v", g.paths)
	}
}

func TestAWikiConcernsNobody(t *testing.T) {
	g := &gitea{status: http.StatusOK, answer: "{}"}
	h, _ := pushed(t, g, line, map[string]string{"GITEA_REPO_IS_WIKI": "true"})
	if err := h.preReceive(); err != nil || len(g.paths) != 0 {
		t.Errorf("%v, %v", g.paths, err)
	}
}

// TestWhatIsOurs runs the built program in every case where it must answer
// itself or pass on to Gitea.
func TestWhatIsOurs(t *testing.T) {
	repository(t)
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "hook")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = home
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	real := filepath.Join(dir, "gitea")
	if err := os.WriteFile(real, []byte("#!/bin/sh\necho called \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(settings{URL: "http://127.0.0.1:1/", Gitea: real})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program+".json", b, 0o600); err != nil {
		t.Fatal(err)
	}
	const push = "SSH_ORIGINAL_COMMAND=push"
	for _, c := range []struct {
		name  string
		env   []string
		args  []string
		out   string
		fails bool
	}{
		{"update", []string{push}, []string{"hook", "--config=c", "update", "refs/heads/main", "0", "1"}, "", false},
		{"update of a pull request's ref by a user", []string{push}, []string{"hook", "--config=c", "update", "refs/pull/1/head", "0", "1"}, "\n", true},
		{"update of a pull request's ref by Gitea", []string{"GITEA_INTERNAL_PUSH=true"}, []string{"hook", "--config=c", "update", "refs/pull/1/head", "0", "1"}, "", false},
		{"pre-receive by Gitea", []string{"GITEA_INTERNAL_PUSH=true"}, []string{"hook", "--config=c", "pre-receive"}, "", false},
		{"post-receive by Gitea", []string{"GITEA_INTERNAL_PUSH=true"}, []string{"hook", "--config=c", "post-receive"}, "", false},
		{"push by hand", nil, []string{"hook", "--config=c", "pre-receive"}, "called hook --config=c pre-receive\n", false},
		{"push with options", []string{push, "GIT_PUSH_OPTION_COUNT=1"}, []string{"hook", "--config=c", "pre-receive"}, "called hook --config=c pre-receive\n", false},
		{"proc-receive", []string{push}, []string{"hook", "--config=c", "proc-receive"}, "called hook --config=c proc-receive\n", false},
		{"not a hook", nil, []string{"web", "--config", "c"}, "called web --config c\n", false},
	} {
		cmd := exec.Command(program, c.args...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.env...)
		out, err := cmd.Output()
		if (err != nil) != c.fails || string(out) != c.out {
			t.Errorf("%s: %q, %v; want %q, failure %v", c.name, out, err, c.out, c.fails)
		}
	}
}

// home is this package's folder; tests change the working folder.
var home, _ = os.Getwd()
