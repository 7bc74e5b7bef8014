package gitea

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Repo returns the "owner/name" of a clone URL on this server, with or without
// ".git" and a trailing slash. The names of the loopback interface are one.
func (f *Forge) Repo(cloneURL string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(cloneURL))
	if err != nil || u.Host == "" || origin(u) != origin(f.base) {
		return "", false
	}
	path, ok := strings.CutPrefix(strings.Trim(u.Path, "/")+"/", basePath(f.base))
	if !ok {
		return "", false
	}
	repo := strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if _, _, err := split(repo); err != nil {
		return "", false
	}
	return repo, true
}

// basePath is the server's root path without a slash before and with one
// behind; empty for a server at its host's root.
func basePath(base *url.URL) string {
	path := strings.Trim(base.Path, "/")
	if path == "" {
		return ""
	}
	return path + "/"
}

// origin is what two URLs of one server have in common.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + host + ":" + port
}

// FileURL returns where a browser shows a line of a file of this server, and
// false for files elsewhere. It asks nobody.
func (f *Forge) FileURL(at model.Position) (string, bool) {
	repo, ok := f.Repo(at.Repo)
	if !ok || at.Branch == "" || at.File == "" {
		return "", false
	}
	file := repo + "/src/branch/" + at.Branch + "/" + at.File
	var parts []string
	for part := range strings.SplitSeq(file, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	u := f.base.JoinPath(parts...)
	u.User = nil
	if at.Line > 0 {
		u.Fragment = "L" + strconv.Itoa(at.Line)
	}
	return u.String(), true
}

// remote says how to reach the repository of a clone URL. The token goes to
// this server only.
func (f *Forge) remote(cloneURL string) gitclient.Remote {
	if repo, ok := f.Repo(cloneURL); ok {
		return f.own(repo)
	}
	return gitclient.Remote{URL: cloneURL}
}

// own is the remote of a repository of this server. It is spelled the same
// whatever the clone URL was, so that a repository is cached once.
func (f *Forge) own(repo string) gitclient.Remote {
	return gitclient.Remote{
		URL:  f.base.JoinPath(repo + ".git").String(),
		Auth: &gitclient.Auth{User: "kalypso", Password: f.token},
	}
}
