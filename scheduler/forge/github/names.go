package github

import (
	"fmt"
	"strings"
)

// split takes an "owner/name" apart. It lets nothing through that would lead
// to another resource in a request's path.
func split(repo string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || !plainName(owner) || !plainName(name) {
		return "", "", fmt.Errorf("repository %q is not of the form owner/name", repo)
	}
	return owner, name, nil
}

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/?#%\\ \x00")
}
