package forge

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Site is where a forge has its repositories and their pages.
type Site struct {
	Root  *url.URL // of the pages
	Files string   // what is between a repository and a branch in the path of a file's page, e.g. "blob"
}

// Repo returns the "owner/name" of a clone URL on this site, with or without
// ".git" and a trailing slash. The names of the loopback interface are one.
func (s Site) Repo(cloneURL string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(cloneURL))
	if err != nil || u.Host == "" || Origin(u) != Origin(s.Root) {
		return "", false
	}
	base := strings.Trim(s.Root.Path, "/")
	if base != "" {
		base += "/"
	}
	path, ok := strings.CutPrefix(strings.Trim(u.Path, "/")+"/", base)
	repo := strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if _, _, err := SplitRepo(repo); !ok || err != nil {
		return "", false
	}
	return repo, true
}

// FileURL returns where a browser shows a line of a file of this site, and
// false for files elsewhere. It makes no request.
func (s Site) FileURL(at model.Position) (string, bool) {
	repo, ok := s.Repo(at.Repo)
	if !ok || at.Branch == "" || at.File == "" {
		return "", false
	}
	var parts []string
	for part := range strings.SplitSeq(repo+"/"+s.Files+"/"+at.Branch+"/"+at.File, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	u := s.Root.JoinPath(parts...)
	u.User = nil
	if at.Line > 0 {
		u.Fragment = "L" + strconv.Itoa(at.Line)
	}
	return u.String(), true
}

// CommitURL returns where a browser shows a commit of a repository of this site, and
// false for repositories elsewhere.
func (s Site) CommitURL(cloneURL, commit string) (string, bool) {
	repo, ok := s.Repo(cloneURL)
	if !ok || !PlainName(commit) {
		return "", false
	}
	u := s.Root.JoinPath(repo, "commit", commit)
	u.User = nil
	return u.String(), true
}

// Origin is the same for two URLs of one server.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.TrimPrefix(host, "www.") + ":" + port
}

// SplitRepo takes an "owner/name" apart. It lets nothing through that would lead
// to another resource in a request's path.
func SplitRepo(repo string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || !PlainName(owner) || !PlainName(name) {
		return "", "", fmt.Errorf("repository %q is not of the form owner/name", repo)
	}
	return owner, name, nil
}

// PlainName reports whether a text is one part of a path and nothing else.
func PlainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/?#%\\ \x00")
}
