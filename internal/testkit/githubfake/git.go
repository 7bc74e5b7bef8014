package githubfake

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bare is a repository's objects and branches.
type bare string

func newBare(dir string) bare {
	b := bare(dir)
	must(0, os.MkdirAll(filepath.Dir(dir), 0o755))
	cmd := exec.Command("git", "init", "-q", "--bare", "-b", "main", "--template=", dir)
	cmd.Env = environment()
	must(cmd.CombinedOutput())
	config := must(os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0o600))
	// GitHub lets any commit be fetched by its ID
	must(config.WriteString("[uploadpack]\n\tallowAnySHA1InWant = true\n[receive]\n\tdenyDeleteCurrent = ignore\n\tautogc = false\n[gc]\n\tauto = 0\n"))
	must(0, config.Close())
	return b
}

func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a person", "GIT_AUTHOR_EMAIL=person@example.com",
		"GIT_COMMITTER_NAME=a person", "GIT_COMMITTER_EMAIL=person@example.com")
}

// run runs git and returns its output without the last line's end.
func (b bare) run(env []string, input []byte, args ...string) (string, error) {
	out, err := b.output(env, input, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func (b bare) output(env []string, input []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = string(b)
	cmd.Env = append(environment(), env...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

// try runs git for its answer alone, "" when it has none.
func (b bare) try(args ...string) string {
	out, err := b.run(nil, nil, args...)
	if err != nil {
		return ""
	}
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
	_, err := b.run(nil, nil, "update-ref", "refs/heads/"+branch, to)
	return err
}

// modes returns the modes of all that a commit holds.
func (b bare) modes(commit string) map[string]string {
	modes := map[string]string{}
	for line := range strings.SplitSeq(must(b.run(nil, nil, "ls-tree", "-r", commit)), "\n") {
		meta, path, _ := strings.Cut(line, "\t")
		modes[path], _, _ = strings.Cut(meta, " ")
	}
	return modes
}

// files returns the contents of a commit's files.
func (b bare) files(commit string) map[string]string {
	files := map[string]string{}
	out := must(b.output(nil, nil, "ls-tree", "-r", "-z", commit))
	var ids, paths []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if f := strings.Fields(meta); ok && f[1] == "blob" {
			ids, paths = append(ids, f[2]), append(paths, path)
		}
	}
	data := must(b.output(nil, []byte(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch"))
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
