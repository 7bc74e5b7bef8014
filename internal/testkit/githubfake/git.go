package githubfake

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
)

// bare is a repository's objects and branches.
type bare string

func newBare(dir string) bare {
	b := bare(dir)
	must(0, os.MkdirAll(filepath.Dir(dir), 0o755))
	must(gitkit.Git(filepath.Dir(dir), "", "init", "-q", "--bare", "-b", "main", "--template=", dir))
	config := must(os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0o600))
	// GitHub lets any commit be fetched by its ID
	must(config.WriteString("[uploadpack]\n\tallowAnySHA1InWant = true\n[receive]\n\tdenyDeleteCurrent = ignore\n\tautogc = false\n[gc]\n\tauto = 0\n"))
	must(0, config.Close())
	return b
}

func (b bare) run(args ...string) (string, error) { return gitkit.Git(string(b), "", args...) }

// try runs git for its answer alone, "" when it has none.
func (b bare) try(args ...string) string {
	out, _ := b.run(args...)
	return out
}

// branch returns where a branch is, "" when it is not there. It is asked for
// with every request: a branch that git has written in a file of its own, as it
// does until somebody packs them, is read without git.
func (b bare) branch(name string) string {
	if data, err := os.ReadFile(filepath.Join(string(b), "refs", "heads", filepath.FromSlash(name))); err == nil && len(data) == 41 {
		return string(data[:40])
	}
	if !b.packed() {
		return ""
	}
	return b.try("rev-parse", "-q", "--verify", "refs/heads/"+name)
}

func (b bare) packed() bool {
	_, err := os.Stat(filepath.Join(string(b), "packed-refs"))
	return err == nil
}

// kind returns what an object is, "" when there is none.
func (b bare) kind(id string) string {
	if len(id) != 40 {
		return ""
	}
	return b.try("cat-file", "-t", id)
}

func (b bare) empty() bool {
	if b.packed() {
		return b.try("for-each-ref", "--count=1", "refs/heads/") == ""
	}
	some := false
	_ = filepath.WalkDir(filepath.Join(string(b), "refs", "heads"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			some = true
			return fs.SkipAll
		}
		return nil
	})
	return !some
}

// point moves a branch.
func (b bare) point(branch, to string) error {
	_, err := b.run("update-ref", "refs/heads/"+branch, to)
	return err
}

// modes returns the modes of all that a commit holds.
func (b bare) modes(commit string) map[string]string {
	modes := map[string]string{}
	for line := range strings.SplitSeq(must(b.run("ls-tree", "-r", commit)), "\n") {
		meta, path, _ := strings.Cut(line, "\t")
		modes[path], _, _ = strings.Cut(meta, " ")
	}
	return modes
}

// filesOf and sizeOf are answers of git about commits, which never change: tests ask for
// them at every request, and starting git takes longer than all else that they do.
var filesOf, sizeOf sync.Map

// files returns the contents of a commit's files.
func (b bare) files(commit string) map[string]string {
	if known, ok := filesOf.Load(commit); ok {
		return maps.Clone(known.(map[string]string))
	}
	files := b.readFiles(commit)
	filesOf.Store(commit, maps.Clone(files))
	return files
}

func (b bare) readFiles(commit string) map[string]string {
	files := map[string]string{}
	out := must(gitkit.Output(string(b), "", "ls-tree", "-r", "-z", commit))
	var ids, paths []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if f := strings.Fields(meta); ok && f[1] == "blob" {
			ids, paths = append(ids, f[2]), append(paths, path)
		}
	}
	data := must(gitkit.Output(string(b), strings.Join(ids, "\n")+"\n", "cat-file", "--batch"))
	for _, path := range paths {
		head, rest, _ := bytes.Cut(data, []byte("\n"))
		var id, kind string
		var size int
		must(fmt.Sscan(string(head), &id, &kind, &size))
		files[path] = string(rest[:size])
		data = rest[size+1:]
	}
	return files
}

// RefusePush has a rule refuse every push to a repository, with the lines that
// git shows after "remote:" (docs.github.com/repositories/configuring-branches-
// and-merges-in-your-repository/managing-rulesets/troubleshooting-rules).
func (s *Server) RefusePush(repo string, lines ...string) {
	edit(s, repo, func(r *repository) int {
		hook := filepath.Join(string(r.bare), "hooks", "pre-receive")
		must(0, os.MkdirAll(filepath.Dir(hook), 0o755))
		script := "#!/bin/sh\ncat >&2 <<'END'\n" + strings.Join(lines, "\n") + "\nEND\nexit 1\n"
		must(0, os.WriteFile(hook, []byte(script), 0o700))
		return 0
	})
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

// refRoutes are the references of the Git data API (docs: git/refs) and what
// else finds commits.
func (s *Server) refRoutes() {
	s.on(Read, "GET /git/ref/{ref...}", func(c *call) (any, error) {
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		branch, _ := strings.CutPrefix(c.param("ref"), "heads/")
		if id := c.repo.bare.branch(branch); id != "" && strings.HasPrefix(c.param("ref"), "heads/") {
			return c.repo.refJSON(branch, id), nil
		}
		return nil, notFound()
	})
	s.on(Write, "DELETE /git/refs/{ref...}", func(c *call) (any, error) {
		branch, _ := strings.CutPrefix(c.param("ref"), "heads/")
		if c.repo.bare.branch(branch) == "" {
			return nil, unprocessable("Reference does not exist")
		}
		_, err := c.repo.bare.run("update-ref", "-d", "refs/heads/"+branch)
		c.repo.follow()
		return nothing{}, err
	})
	s.on(Read, "GET /commits/{ref...}", func(c *call) (any, error) {
		if ref, ok := strings.CutSuffix(c.param("ref"), "/status"); ok {
			return combinedStatus(c, ref)
		}
		if ref, ok := strings.CutSuffix(c.param("ref"), "/check-runs"); ok {
			return checkRuns(c, ref)
		}
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		id := c.repo.resolve(c.param("ref"))
		if id == "" {
			return nil, unprocessable("No commit found for SHA: " + c.param("ref"))
		}
		if !strings.Contains(c.request.Header.Get("Accept"), "sha") {
			return c.repo.commitsJSON("-1", id)[0], nil
		}
		return raw{"application/vnd.github.sha; charset=utf-8", []byte(id)}, nil
	})
}

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve returns the commit that a ref of a request names, "" when there is
// none.
func (r *repository) resolve(ref string) string {
	if ref == "HEAD" {
		return r.bare.branch(r.defaultBranch)
	}
	if fullID.MatchString(ref) && r.bare.kind(ref) == "commit" {
		return ref
	}
	return r.bare.branch(strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/"))
}

// contains reports whether a commit has another in its history.
func (b bare) contains(commit, other string) bool {
	_, err := b.run("merge-base", "--is-ancestor", other, commit)
	return err == nil
}

// historyRoutes are the lists of commits (docs: commits/commits#list-commits,
// commits/commits#compare-two-commits).
func (s *Server) historyRoutes() {
	s.on(Read, "GET /compare/{branches...}", func(c *call) (any, error) {
		base, head, _ := strings.Cut(c.param("branches"), "...")
		from, to := c.repo.resolve(base), c.repo.resolve(head)
		if from == "" || to == "" {
			return nil, notFound()
		}
		return c.repo.comparisonJSON(base, head, from, to)
	})
	s.on(Read, "GET /commits", func(c *call) (any, error) {
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		from := c.query("sha")
		if from == "" {
			from = "HEAD"
		}
		id := c.repo.resolve(from)
		if id == "" {
			return nil, notFound()
		}
		return paginate(c, c.repo.commitsJSON(id)), nil
	})
}

// statusRoutes are commit statuses (docs: commits/statuses).
func (s *Server) statusRoutes() {
	s.on(Write, "POST /statuses/{id}", func(c *call) (any, error) {
		in, err := c.body(fields{"state": "!string", "target_url": "string?", "description": "string?", "context": "string"})
		if err != nil {
			return nil, err
		}
		id := c.param("id")
		switch {
		case !slices.Contains([]string{"error", "failure", "pending", "success"}, text(in, "state")):
			return nil, custom("Status", "state", "state is not included in the list")
		case c.repo.bare.kind(id) != "commit":
			return nil, unprocessable("No commit found for SHA: " + id)
		}
		if err := tooLong("Status", "description", text(in, "description"), 140); err != nil {
			return nil, err
		}
		if u := text(in, "target_url"); u != "" && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			return nil, custom("Status", "target_url", "target_url must use http(s) scheme")
		}
		if in["context"] == nil {
			in["context"] = "default"
		}
		status := c.repo.statusJSON(id, c.server.id(), in)
		c.repo.statuses[id] = append(c.repo.statuses[id], status)
		whole := maps.Clone(status)
		whole["creator"] = c.server.accountJSON(c.user)
		return created{whole}, nil
	})
}

// combinedStatus is the newest status of each context.
func combinedStatus(c *call, ref string) (any, error) {
	id := c.repo.resolve(ref)
	if id == "" {
		return nil, unprocessable("No commit found for SHA: " + ref)
	}
	newest := map[string]object{}
	for _, s := range c.repo.statuses[id] {
		newest[strings.ToLower(text(s, "context"))] = s
	}
	all := []object{}
	for _, key := range slices.Sorted(maps.Keys(newest)) {
		all = append(all, newest[key])
	}
	p := paginate(c, all)
	state := "pending"
	if len(all) > 0 {
		state = "success"
	}
	for _, s := range all {
		switch text(s, "state") {
		case "error", "failure":
			state = "failure"
		case "pending":
			if state == "success" {
				state = "pending"
			}
		}
	}
	p.items = object{
		"state": state, "sha": id, "total_count": len(all), "statuses": p.items, "repository": c.repo.shortJSON(),
		"commit_url": c.repo.api("/commits/%s", id), "url": c.repo.api("/commits/%s/status", id),
	}
	return p, nil
}
