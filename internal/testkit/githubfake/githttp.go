package githubfake

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

// gitBackend serves the bare repositories below a folder by git's own program.
func gitBackend(root string) http.Handler {
	return &cgi.Handler{Path: must(exec.LookPath("git")), Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	}}
}

func gitKind(q *http.Request) string {
	switch {
	case strings.HasSuffix(q.URL.Path, "/git-upload-pack"):
		return "fetch"
	case strings.HasSuffix(q.URL.Path, "/git-receive-pack"):
		return "push"
	}
	return "refs"
}

// serveGit answers git, for those who may: without an account GitHub asks for
// one, and with a wrong one it says nothing of what there is.
func (s *Server) serveGit(q *http.Request) httpfault.Outcome {
	if no := s.gitRefusal(q); no != 0 {
		o := httpfault.Outcome{Status: no, Header: http.Header{}}
		if no == http.StatusUnauthorized {
			o.Header.Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		return o
	}
	w := httptest.NewRecorder()
	s.git.ServeHTTP(w, q)
	return httpfault.Outcome{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}

func (s *Server) gitRefusal(q *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, _, err := s.authenticate(q)
	if err != nil {
		return http.StatusUnauthorized
	}
	name, service := gitPath(q.URL.Path)
	r := s.repos[strings.ToLower(name)]
	push := gitKind(q) == "push" || q.URL.Query().Get("service") == "git-receive-pack"
	switch {
	case r != nil && user.may(r) >= Write, r != nil && user.may(r) == Read && !push:
		if push && r.archived {
			return http.StatusForbidden
		}
		// the repository's folder has its name in lower case
		q.URL.Path = "/" + r.key() + ".git/" + service
		return 0
	case user == nil:
		return http.StatusUnauthorized
	case r != nil && user.may(r) == Read:
		return http.StatusForbidden
	}
	return http.StatusNotFound
}

// gitPath takes a git client's path apart. Clone URLs may end in .git or not.
func gitPath(path string) (repo, service string) {
	path = strings.Trim(path, "/")
	for _, service := range []string{"info/refs", "git-upload-pack", "git-receive-pack"} {
		if repo, ok := strings.CutSuffix(path, "/"+service); ok {
			return strings.TrimSuffix(repo, ".git"), service
		}
	}
	return path, ""
}
