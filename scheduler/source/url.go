package source

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// address is a git URL in parts, from either of its spellings:
// "scheme://[user@]host[:port]/path" and ssh's "[user@]host:path".
type address struct {
	scheme string // lower case; "ssh" for the short spelling
	host   string // lower case, with the port unless it is the scheme's own
	path   string // without slashes around it and without ".git"
}

// parseAddress reports false for what is no git URL: a folder, above all.
func parseAddress(s string) (address, bool) {
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil || u.Scheme == "" {
			return address{}, false
		}
		a := address{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Host), path: cleanPath(u.Path)}
		switch {
		case a.scheme == "git+ssh" || a.scheme == "ssh+git":
			a.scheme = "ssh"
			fallthrough
		case a.scheme == "ssh", a.scheme == "http" && u.Port() == "80", a.scheme == "https" && u.Port() == "443":
			a.host = strings.ToLower(u.Hostname())
		}
		return a, true
	}
	host, rest, found := strings.Cut(s, ":")
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	// A path has no colon before its first slash, and a single letter before a
	// colon is a drive.
	if !found || len(host) < 2 || strings.ContainsAny(host, `/\`) {
		return address{}, false
	}
	return address{scheme: "ssh", host: strings.ToLower(host), path: cleanPath(rest)}, true
}

func cleanPath(p string) string {
	p = strings.TrimSuffix(strings.TrimRight(p, "/"), ".git")
	return model.CleanFolder(p)
}

// identity is the same for all addresses of one repository: http, https and
// ssh differ in how one gets there, not in where one is.
func (a address) identity() string {
	if a.scheme == "file" {
		return "file:/" + a.path
	}
	return a.host + "/" + a.path
}

// https is the address that a user would give to read the same repository
// without ssh.
func (a address) https() string { return "https://" + a.host + "/" + a.path }

// Identity is the same for all addresses of one repository, "host/path" or
// "file:/path". An address is whatever a remote of a repository in dir can be: a git
// URL, or a path.
func Identity(remote, dir string) string {
	if a, ok := parseAddress(remote); ok {
		return a.identity()
	}
	if !filepath.IsAbs(remote) {
		remote = filepath.Join(dir, remote)
	}
	return address{scheme: "file", path: cleanPath(filepath.ToSlash(remote))}.identity()
}
