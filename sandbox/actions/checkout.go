package actions

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The actions that are served here, of any version, without their code.
const (
	checkoutAction = "actions/checkout"
	// ownAction puts kalypso on the PATH of runners that do not have it: this
	// one has.
	ownAction = "kalypso-dev/kalypso"
)

// isAction tells whether a step uses an action, from wherever.
func isAction(uses, action string) bool {
	name, version, ok := strings.Cut(uses, "@")
	name = strings.TrimPrefix(name, "https://github.com/")
	return ok && version != "" && strings.EqualFold(name, action)
}

// checkout is what a step of actions/checkout asks for.
type checkout struct {
	Repository string // owner/name
	Ref        string // as given; "" for the commit of this run
	Token      string
	Dir        string // absolute
	Depth      int    // 0 for all
	Tags       bool   // fetch all tags, too; with all history they come anyway
	Clean      bool   // what stands in the folder is known to go
	Persist    bool   // keep the token for the steps that follow

	server string
	sha    string // of this run, when that is what is wanted
	runRef string // the run's own ref, in full
	Notes  []string
}

// newCheckout reads the inputs of a step, evaluated.
func newCheckout(with map[string]string, t task, workspace string) (checkout, error) {
	c := checkout{
		Repository: t.text("repository"), Token: t.text("token"), Dir: workspace, Depth: 1, Clean: true, Persist: true,
		server: t.serverURL(), runRef: t.text("ref"),
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		v := with[name]
		switch name {
		case "repository":
			if v != "" {
				c.Repository = v
			}
		case "ref":
			c.Ref = v
		case "token":
			if v != "" {
				c.Token = v
			}
		case "path":
			if v != "" && !filepath.IsLocal(v) {
				return c, fmt.Errorf("path: %q is outside of the workspace", v)
			}
			c.Dir = filepath.Join(workspace, v)
		case "fetch-depth":
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return c, fmt.Errorf("fetch-depth: %q is not a number of commits", v)
			}
			c.Depth = n
		case "persist-credentials":
			c.Persist = v == "" || strings.EqualFold(v, "true")
		case "submodules", "lfs":
			if v != "" && !strings.EqualFold(v, "false") {
				return c, fmt.Errorf("%s: is not served here", name)
			}
		case "fetch-tags":
			c.Tags = strings.EqualFold(v, "true")
		case "clean":
			c.Clean = v == "" || strings.EqualFold(v, "true")
		case "show-progress", "set-safe-directory":
		default:
			c.Notes = append(c.Notes, fmt.Sprintf("the input %q has no effect here", name))
		}
	}
	if !repositoryName.MatchString(c.Repository) {
		return c, fmt.Errorf("repository: %q is not OWNER/NAME", c.Repository)
	}
	if strings.HasPrefix(c.Ref, "-") {
		return c, fmt.Errorf("ref: %q is not the name of a ref", c.Ref)
	}
	if c.Ref == "" && strings.EqualFold(c.Repository, t.text("repository")) {
		c.sha = t.text("sha")
	}
	return c, nil
}

var (
	repositoryName = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)
	commitID       = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

func (c checkout) url() string { return c.server + "/" + c.Repository + ".git" }

// authorization is the header by which git shows the token.
func (c checkout) authorization() string {
	return "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+c.Token))
}

// settings are the lines of git's configuration that show the token to the
// forge and to nobody else. They are written to a file, since others can read
// command lines.
func (c checkout) settings() string {
	return fmt.Sprintf("[http %q]\n\textraheader = %s\n", c.server+"/", c.authorization())
}

// target is what is fetched, and what is checked out of it.
type target struct {
	fetch  []string // refspecs
	branch string   // local branch to stand on; "" for none
	commit string   // to check out, of what has been fetched
}

// target decides what to fetch. known are the forge's refs that could be
// meant, in full; it is asked for only where a name can mean more than one.
func (c checkout) target(known []string) (target, error) {
	ref := or(c.Ref, "HEAD")
	if c.sha != "" {
		ref = or(c.runRef, c.sha)
	}
	switch {
	case commitID.MatchString(ref):
		return target{fetch: []string{ref}, commit: ref}, nil
	case strings.HasPrefix(ref, "refs/") || ref == "HEAD":
	case slices.Contains(known, "refs/heads/"+ref):
		ref = "refs/heads/" + ref
	case slices.Contains(known, "refs/tags/"+ref):
		ref = "refs/tags/" + ref
	default:
		return target{}, fmt.Errorf("ref: %s has no branch and no tag %q", c.Repository, ref)
	}
	from, t := ref, target{commit: "FETCH_HEAD"}
	if c.sha != "" {
		from, t.commit = c.sha, c.sha
	}
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		t.branch = branch
		t.fetch = []string{"+" + from + ":refs/remotes/origin/" + branch}
		t.commit = "refs/remotes/origin/" + branch
	} else {
		t.fetch = []string{from}
	}
	return t, nil
}

// needsRefs tells whether the forge must be asked what the ref's name means.
func (c checkout) needsRefs() bool {
	return c.sha == "" && c.Ref != "" && !commitID.MatchString(c.Ref) && !strings.HasPrefix(c.Ref, "refs/")
}

const allTags = "+refs/tags/*:refs/tags/*"

// commands are the git commands that fetch and check out the target, in a
// repository that has been made and has the remote origin.
func (c checkout) commands(t target) [][]string {
	fetch := []string{"git", "fetch", "--quiet", "--no-tags", "--force"}
	var all [][]string
	if c.Depth > 0 {
		fetch = append(fetch, "--depth="+strconv.Itoa(c.Depth), "origin")
	} else {
		all = append(all, append(slices.Clone(fetch), "origin", "+refs/heads/*:refs/remotes/origin/*", allTags))
		fetch = append(fetch, "origin")
	}
	if c.Depth > 0 && c.Tags {
		t.fetch = append(slices.Clone(t.fetch), allTags)
	}
	all = append(all, append(fetch, t.fetch...))
	if t.branch != "" {
		return append(all, []string{"git", "checkout", "--quiet", "--force", "-B", t.branch, t.commit},
			[]string{"git", "branch", "--quiet", "--set-upstream-to=origin/" + t.branch, t.branch})
	}
	return append(all, []string{"git", "checkout", "--quiet", "--force", "--detach", t.commit})
}
