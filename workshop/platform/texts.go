package platform

import (
	"bytes"
	"context"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
)

// maxText is the size of a file from which on it is not searched: nobody writes such
// a file by hand, and none of the model's is so large.
const maxText = 4 << 20

// texts is what stands in the files of all repositories.
type texts struct {
	of        *building
	spellings map[*clone]map[string]bool // addresses of the repositories
	registry  map[string]bool            // what names of own images begin with
	secrets   map[string]bool            // names in workflows
	variables map[string]bool
	next      string // the variable that names the environment after one
	found     map[Outside]bool
	notes     []Note
}

// readTexts searches the files at the heads of all branches: for addresses of the
// repositories everywhere, for the rest where the model reads.
func (b *building) readTexts(ctx context.Context) (*texts, error) {
	t := &texts{
		of: b, spellings: map[*clone]map[string]bool{}, registry: map[string]bool{},
		secrets: map[string]bool{}, variables: map[string]bool{}, found: map[Outside]bool{},
	}
	for _, one := range b.clones.known() {
		t.spellings[one] = map[string]bool{}
		for _, address := range one.urls {
			t.spellings[one][address] = true
		}
	}
	for _, one := range b.clones.known() {
		seen := map[string]bool{}
		head := one.head
		// the branches that the model reads come first: what is found is reported once
		branches := slices.Clone(one.branches)
		slices.SortStableFunc(branches, func(x, y string) int {
			return boolInt(one.used[y] || y == head) - boolInt(one.used[x] || x == head)
		})
		for _, branch := range branches {
			if err := t.readBranch(ctx, one, branch, one.used[branch] || branch == head, seen); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readBranch searches the files at the head of a branch that were not seen on another
// one.
func (t *texts) readBranch(ctx context.Context, one *clone, branch string, used bool, seen map[string]bool) error {
	entries, err := one.git.records(ctx, "ls-tree", "-r", "-z", "-l", "refs/heads/"+branch)
	if err != nil {
		return err
	}
	var files, ids []string
	at := func(file string, line int) model.Position {
		return model.Position{Repo: one.urls[0], Branch: branch, File: file, Line: line}
	}
	for _, entry := range entries {
		meta, file, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(meta) // mode, type, ID, size
		if len(fields) != 4 || seen[fields[2]+file] {
			continue
		}
		seen[fields[2]+file] = true
		switch fields[1] {
		case "commit":
			if used {
				t.notes = append(t.notes, Note{at(file, 0), "a submodule is taken as it is: nothing reads what is in it"})
			}
		case "blob":
			if size, err := strconv.Atoi(fields[3]); err == nil && size <= maxText {
				files, ids = append(files, file), append(ids, fields[2])
			}
		}
	}
	return one.git.blobs(ctx, ids, func(i int, content []byte) {
		if bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 {
			return
		}
		if used && bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")) {
			t.notes = append(t.notes, Note{at(files[i], 1), "a pointer of git-lfs is taken as it is: its content is somewhere else"})
			return
		}
		t.search(at(files[i], 0), string(content), used)
	})
}

// anAddress finds git URLs of any spelling, and whatever else has a scheme.
var anAddress = regexp.MustCompile("(?i)[a-z][a-z0-9+.-]*://[^\\s\"'<>()\\[\\]{}|\\\\^`,;]+|[\\w.+-]+@[\\w.-]+\\.[a-z]+:[\\w./~-]+")

// search reads a file line by line. What stands in comments points nowhere, but it
// is a spelling like any other.
func (t *texts) search(at model.Position, content string, used bool) {
	kind := fileKind(at.File)
	for line := range strings.Lines(content) {
		at.Line++
		for _, m := range anAddress.FindAllString(line, -1) {
			m = strings.TrimRight(m, ".:")
			if one, spelling := t.repository(m); one != nil {
				if withoutUser(spelling) == spelling {
					t.spellings[one][spelling] = true
				} else if used {
					t.notes = append(t.notes, Note{at, "an address with credentials is taken as it is: remove them"})
				}
			} else if used && kind != noKind && !isComment(line, kind) {
				t.outsideAddress(at, line, m)
			}
		}
		if kind == noKind || isComment(line, kind) {
			continue
		}
		t.searchImages(at, line, kind, used)
		if used && kind == workflowKind {
			t.searchWorkflow(at, line)
		}
	}
}

// repository finds the repository of the workshop that an address begins with, and
// that beginning.
func (t *texts) repository(address string) (*clone, string) {
	begin := strings.Index(address, "://") + len("://")
	if begin < len("://") {
		begin = 0
	}
	for end := len(address); end > begin; {
		spelling := strings.TrimRight(address[:end], "/")
		if one := t.of.clones.clones[source.Identity(spelling, "/")]; one != nil && one.err == nil {
			return one, spelling
		}
		cut := strings.LastIndexAny(address[begin:end], "/?#")
		if cut < 0 {
			break
		}
		end = begin + cut
	}
	return nil, ""
}

// addresses lists all spellings of the repositories, that of the model first, and
// what names of their images begin with.
func (t *texts) addresses() []workshop.Address {
	var all []workshop.Address
	for _, one := range t.of.clones.known() {
		primary := one.urls[0]
		spellings := t.spellings[one]
		for spelling := range maps.Clone(spellings) { // both forms are one repository to every forge
			if strings.HasPrefix(spelling, "http") {
				spellings[strings.TrimSuffix(spelling, ".git")] = true
				spellings[strings.TrimSuffix(spelling, ".git")+".git"] = true
			}
		}
		delete(spellings, primary)
		for _, spelling := range append([]string{primary}, slices.Sorted(maps.Keys(spellings))...) {
			all = append(all, workshop.Address{From: spelling, Repository: one.name})
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(t.registry)) {
		all = append(all, workshop.Address{From: prefix, Registry: true})
	}
	return all
}

// The kinds of files in which something can point out of the sandbox.
type kindOfFile int

const (
	noKind kindOfFile = iota
	yamlKind
	workflowKind
	dockerKind
)

func fileKind(file string) kindOfFile {
	base, ext := path.Base(file), path.Ext(file)
	switch {
	case strings.HasPrefix(file, ".github/workflows/") || strings.HasPrefix(file, ".gitea/workflows/"):
		return workflowKind
	case ext == ".yaml" || ext == ".yml" || ext == ".json" || ext == ".tpl":
		return yamlKind
	case strings.HasPrefix(base, "Dockerfile") || strings.HasPrefix(base, "Containerfile"):
		return dockerKind
	}
	return noKind
}

func isComment(line string, kind kindOfFile) bool {
	return kind != noKind && strings.HasPrefix(strings.TrimSpace(line), "#")
}

var (
	anImage     = regexp.MustCompile(`^\s*(?:-\s+)?image:\s*["']?([^\s"'#{}$]+)["']?\s*(?:#.*)?$`)
	aRepository = regexp.MustCompile(`^\s*(?:-\s+)?(?:repository|registry|newName|image):\s*["']?([\w.-]+\.[\w-]+(?::\d+)?/[^\s"'#{}$]+)["']?\s*(?:#.*)?$`)
	aFrom       = regexp.MustCompile(`(?i)^\s*FROM\s+(?:--\S+\s+)*([^\s$]+)`)
	aSecret     = regexp.MustCompile(`\bsecrets\.([A-Za-z_]\w*)`)
	aVariable   = regexp.MustCompile(`\bvars\.([A-Za-z_]\w*)`)
	anAction    = regexp.MustCompile(`^\s*(?:-\s+)?uses:\s*["']?([^\s"'#]+)`)
	isNext      = regexp.MustCompile(`(?i)next.*env`)
)

// searchImages finds names of images. Those of an organisation of the platform get
// the name of the sandbox's registry.
func (t *texts) searchImages(at model.Position, line string, kind kindOfFile, used bool) {
	patterns := []*regexp.Regexp{anImage, aRepository}
	if kind == dockerKind {
		patterns = []*regexp.Regexp{aFrom}
	}
	for _, pattern := range patterns {
		m := pattern.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[1], "://") || strings.EqualFold(m[1], "scratch") {
			continue
		}
		host, rest, _ := strings.Cut(m[1], "/")
		organisation, _, below := strings.Cut(rest, "/")
		if below && strings.ContainsAny(host, ".:") && t.isOwn(organisation) {
			t.registry[host+"/"+organisation] = true
		} else if used {
			t.found[Outside{ImageOutside, m[1], at}] = true
		}
		return
	}
}

// isOwn reports whether an organisation is that of one of the repositories.
func (t *texts) isOwn(organisation string) bool {
	return slices.ContainsFunc(t.of.clones.known(), func(one *clone) bool {
		for _, address := range one.urls {
			if strings.EqualFold(path.Base(path.Dir(source.Identity(address, "/"))), organisation) {
				return true
			}
		}
		return false
	})
}

// served are the actions that the sandbox's runner has.
var served = []string{"actions/checkout", "kalypso-dev/kalypso"}

func (t *texts) searchWorkflow(at model.Position, line string) {
	for _, m := range aSecret.FindAllStringSubmatch(line, -1) {
		if m[1] != "GITHUB_TOKEN" {
			t.secrets[m[1]] = true
		}
	}
	for _, m := range aVariable.FindAllStringSubmatch(line, -1) {
		if isNext.MatchString(m[1]) {
			t.next = m[1]
		} else if !t.variables[m[1]] {
			t.variables[m[1]] = true
			t.notes = append(t.notes, Note{at, "variable " + m[1] + " has no value here: write it into workflows.variables of " + workshop.File})
		}
	}
	if m := anAction.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "./") {
		name, _, _ := strings.Cut(m[1], "@")
		if !slices.Contains(served, strings.ToLower(name)) {
			t.found[Outside{ActionOutside, m[1], at}] = true
		}
	}
}

// workflows are what the repositories' workflows find in the sandbox. Secrets have
// only their names in common with those of the original.
func (t *texts) workflows() workshop.Workflows {
	return workshop.Workflows{Secrets: slices.Sorted(maps.Keys(t.secrets)), NextEnvironment: t.next}
}

// OutsideKind is what points out of the sandbox.
type OutsideKind string

// The kinds of what points out of the sandbox.
const (
	RepositoryOutside OutsideKind = "repository"
	ChartOutside      OutsideKind = "chart"
	ImageOutside      OutsideKind = "image"
	ActionOutside     OutsideKind = "action"
	AddressOutside    OutsideKind = "address"
)

// Outside is what still points out of the sandbox.
type Outside struct {
	Kind     OutsideKind    `json:"kind"`
	Text     string         `json:"text"`
	Position model.Position `json:"position"`
}

var (
	aKey    = regexp.MustCompile(`^\s*(?:-\s+)?["']?([$\w.-]+)["']?\s*:`)
	forges  = []string{"github.com", "gitlab.com", "bitbucket.org", "dev.azure.com"}
	schemas = []string{"$schema", "$id", "$ref", "apiVersion", "xmlns"} // names that look like addresses
)

// outsideAddress keeps an address that no sandbox answers.
func (t *texts) outsideAddress(at model.Position, line, address string) {
	u, err := url.Parse(address)
	if err == nil && (u.Host == "" || !strings.Contains(u.Hostname(), ".") || inCluster(u.Hostname())) {
		return
	}
	key := ""
	if m := aKey.FindStringSubmatch(line); m != nil {
		key = m[1]
	}
	kind := AddressOutside
	switch {
	case slices.Contains(schemas, key):
		return
	case err != nil || strings.HasSuffix(u.Path, ".git") || t.isForge(u.Host):
		kind = RepositoryOutside
	case u.Scheme == "oci" || key == "repository" || key == "repoURL":
		kind = ChartOutside
	}
	t.found[Outside{kind, withoutUser(address), at}] = true
}

func inCluster(host string) bool {
	return strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local") || strings.HasSuffix(host, ".local") || strings.HasPrefix(host, "127.")
}

// isForge reports whether a server has git repositories.
func (t *texts) isForge(host string) bool {
	if slices.Contains(forges, host) {
		return true
	}
	for identity := range t.of.clones.clones {
		if strings.HasPrefix(identity, host+"/") {
			return true
		}
	}
	return false
}

// outside lists what was found, by position.
func (t *texts) outside() []Outside {
	return slices.SortedFunc(maps.Keys(t.found), func(x, y Outside) int {
		return cmpPositions(x.Position, y.Position)
	})
}
