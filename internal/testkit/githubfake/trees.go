package githubfake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// treeLimit is how many entries a recursive tree has before it is cut off.
// GitHub's is 100,000.
const treeLimit = 100_000

func getTree(c *call) (any, error) {
	if c.repo.bare.empty() {
		return nil, emptyRepository()
	}
	id := c.param("id")
	if c.repo.bare.kind(id) != "tree" {
		id = c.repo.bare.try("rev-parse", "-q", "--verify", c.param("id")+"^{tree}")
	}
	if id == "" {
		return nil, notFound()
	}
	args := []string{"ls-tree", "-l", "-z", id}
	recursive := c.query("recursive") != "" // any value, also 0, means yes
	if recursive {
		args = []string{"ls-tree", "-l", "-z", "-r", "-t", id}
	}
	list := []object{}
	truncated := false
	limit := treeLimit
	if c.server.treeLimit > 0 {
		limit = c.server.treeLimit
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(must(c.repo.bare.output(nil, nil, args...))), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if recursive && len(list) == limit {
			truncated = true
			break
		}
		f := strings.Fields(meta)
		e := object{"path": path, "mode": f[0], "type": f[1], "sha": f[2]}
		if size, err := strconv.Atoi(f[3]); err == nil {
			e["size"] = size
		}
		list = append(list, e)
	}
	return object{"sha": id, "tree": list, "truncated": truncated}, nil
}

func postTree(c *call) (any, error) {
	in, err := c.body(fields{"tree": "!objects", "base_tree": "string"})
	if err != nil {
		return nil, err
	}
	b := c.repo.bare
	if b.empty() {
		return nil, emptyRepository()
	}
	if has(in, "base_tree") && b.kind(text(in, "base_tree")) != "tree" {
		return nil, unprocessable("base_tree is not a valid tree oid")
	}
	index := filepath.Join(string(b), "index-"+strconv.FormatInt(c.server.id(), 10))
	defer os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	there := map[string]bool{}
	if has(in, "base_tree") {
		must(b.run(env, nil, "read-tree", text(in, "base_tree")))
		for path := range strings.SplitSeq(must(b.run(env, nil, "ls-files", "-z")), "\x00") {
			there[path] = true
		}
	}
	var lines strings.Builder
	for _, one := range in["tree"].([]any) {
		line, err := treeLine(b, one.(object), there)
		if err != nil {
			return nil, err
		}
		lines.WriteString(line)
	}
	if _, err := b.run(env, []byte(lines.String()), "update-index", "-z", "--index-info"); err != nil {
		return nil, unprocessable("GitRPC::BadObjectState")
	}
	id, err := b.run(env, nil, "write-tree")
	if err != nil {
		return nil, unprocessable("GitRPC::BadObjectState")
	}
	return created{object{"sha": id, "tree": []object{}, "truncated": false}}, nil
}

var modes = map[string]string{"100644": "blob", "100755": "blob", "120000": "blob", "160000": "commit", "040000": "tree"}

// treeLine is an entry of a new tree as git takes it (docs: git/trees#create-a-
// tree: either sha or content, null removes, a file that is not there cannot be
// removed).
func treeLine(b bare, e object, there map[string]bool) (string, error) {
	if err := check(e, fields{"path": "!string", "mode": "!string", "type": "string", "sha": "string?", "content": "string"}); err != nil {
		return "", err
	}
	path, mode := text(e, "path"), text(e, "mode")
	kind, ok := modes[mode]
	switch {
	case !ok:
		return "", unprocessable(fmt.Sprintf("tree.mode %s is not a valid mode", mode))
	case has(e, "type") && text(e, "type") != kind:
		return "", unprocessable(fmt.Sprintf("tree.type %s does not fit mode %s", text(e, "type"), mode))
	case path == "" || strings.HasPrefix(path, "/") || slices.Contains(strings.Split(path, "/"), "..") || slices.Contains(strings.Split(strings.ToLower(path), "/"), ".git"):
		return "", unprocessable("tree.path contains a malformed path component")
	case has(e, "sha") == has(e, "content"):
		return "", unprocessable("Must supply either tree.sha or tree.content. Request will be rejected if both are present.")
	case has(e, "content") && text(e, "content") == "":
		return "", unprocessable("Must supply tree.sha or tree.content")
	case e["sha"] == nil && !has(e, "content"):
		if !there[path] {
			return "", unprocessable("GitRPC::BadObjectState")
		}
		return "0 0000000000000000000000000000000000000000\t" + path + "\x00", nil
	case has(e, "content"):
		return mode + " " + must(b.store("blob", []byte(text(e, "content")))) + "\t" + path + "\x00", nil
	case b.kind(text(e, "sha")) != kind:
		return "", unprocessable(fmt.Sprintf("tree.sha %s is not a valid %s", text(e, "sha"), kind))
	}
	return mode + " " + text(e, "sha") + "\t" + path + "\x00", nil
}
