package plan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"go.yaml.in/yaml/v3"
)

// missRepos is an up-to-date model with an object of each kind in a file of its
// own, of which each is needed for something on the GitOps branch.
func missRepos(t testing.TB) *modeltest.Repositories {
	t.Helper()
	const object = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata:\n  name: %s\n%s"
	input := faultRepos(t, "")
	write := func(repo, branch, file, kind, name, rest string) {
		input.Write(repo, branch, file, fmt.Appendf(nil, object, kind, name, rest))
	}
	write("control", "dev", "small.yaml", "ClusterType", "small", "  labels:\n    region: west\nspec:\n  reconciler: flux\n  namespaceService: default\n")
	write("control", "dev", "large.yaml", "ClusterType", "large", "  labels:\n    region: east\nspec:\n  reconciler: flux\n  namespaceService: default\n")
	write("control", "dev", "policy.yaml", "SchedulingPolicy", "west", "spec:\n  clusterTypeSelector:\n    labelSelector:\n      matchLabels:\n        region: west\n")
	write("control", "dev", "others.yaml", "SchedulingPolicy", "east", "spec:\n  clusterTypeSelector:\n    labelSelector:\n      matchLabels:\n        region: east\n")
	write("control", "dev", "schema.yaml", "ConfigSchema", "keys", "spec:\n  schema: '{\"required\": [\"COMMON\"]}'\n")
	input.Write("control", "dev", "config.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: west\n  labels:\n    platform-config: \"true\"\n    region: west\ndata:\n  REGION: west\n"))
	input.Write("control", "main", "common.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: common\n  labels:\n    platform-config: \"true\"\ndata:\n  COMMON: all\n"))
	write("control", "main", "stock.yaml", "WorkloadRegistration", "stock", "spec:\n  workload:\n    repo: https://forge.test/kalypso/stock\n    branch: main\n  workspace: team\n")
	write("stock", "main", "stock.yaml", "Workload", "stock", "spec:\n  deploymentTargets:\n    - name: test\n      environment: dev\n      manifests: {path: ./stock}\n")
	write("stock", "main", "cellar.yaml", "Workload", "cellar", "spec:\n  deploymentTargets:\n    - name: test\n      environment: dev\n      manifests: {path: ./cellar}\n")
	mergePlan(input, faultPlan(t, input))
	if p := faultPlan(t, input); len(p.Changes)+len(p.Problems) > 0 || len(p.Assignments) != 6 {
		t.Fatalf("%d assignments, changes %q, problems %v", len(p.Assignments), changes(p), p.Problems)
	}
	return input
}

// losses are the changes that take something from the GitOps branch: files that
// go, and those that change and miss a line then.
func losses(input *modeltest.Repositories, p *plan.Plan) []string {
	var lost []string
	files := input.Tree("gitops", "dev").Files
	for _, c := range p.Changes {
		gone := c.Action == plan.Remove
		for line := range bytes.Lines(files[c.Path]) {
			gone = gone || c.Action == plan.Modify && !bytes.Contains(c.Content, line)
		}
		if gone {
			lost = append(lost, fmt.Sprintf("%s %s", c.Action, c.Path))
		}
	}
	return lost
}

// errorsIn returns the places of the errors in a file, as "file:line".
func errorsIn(p *plan.Plan, repo, branch, file string) []string {
	var positions []string
	for _, problem := range p.Problems {
		at := problem.Position
		if problem.Severity == model.Error && at.Repo == modeltest.Forge+repo && at.Branch == branch && at.File == file {
			positions = append(positions, fmt.Sprintf("%s:%d", at.File, at.Line))
		}
	}
	return positions
}

const (
	gitCrypt = "\x00GITCRYPT\x00\x9f\x12 \x80\x01\n\xfe"
	lfs      = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)

// TestNearMiss writes one file of an up-to-date model so that it is almost what
// it was meant to be, or cannot be read. It is an error at its place, and
// nothing is taken from the GitOps branch meanwhile.
func TestNearMiss(t *testing.T) {
	const (
		config       = "control@dev/config.yaml"
		common       = "control@main/common.yaml"
		clusterType  = "control@dev/small.yaml"
		policy       = "control@dev/policy.yaml"
		registration = "control@main/stock.yaml"
		template     = "control@main/templates.yaml"
		workload     = "stock@main/cellar.yaml"
		repos        = "control@dev/repos.yaml"
	)
	replace := func(old, with string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, with, 1) }
	}
	cutBefore := func(text string) func(string) string {
		return func(s string) string { s, _, _ = strings.Cut(s, text); return s }
	}
	instead := func(text string) func(string) string { return func(string) string { return text } }
	none := func(text string) func(string) string { return replace(text, "") }
	const ours, v1 = "apiVersion: scheduler.kalypso.io/v1alpha1\n", "apiVersion: v1\n"
	encrypted := func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		for i, line := range lines {
			if key, value, ok := strings.Cut(line, ": "); ok && value != "" {
				lines[i] = key + ": ENC[AES256_GCM,data:Zm9v,type:str]\n"
			}
		}
		return strings.Join(lines, "") + "sops:\n  mac: ENC[AES256_GCM,data:Zm9v,type:str]\n  version: 3.9.0\n"
	}
	tests := []struct {
		name string
		file string
		to   func(string) string
		line int
	}{
		{"kind in another case", config, replace("ConfigMap", "Configmap"), 2},
		{"kind misspelt", config, replace("ConfigMap", "ConfigMpa"), 2},
		{"kind of a v1 list in another case", config, func(s string) string {
			return "apiVersion: v1\nkind: list\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
		}, 2},
		{"no apiVersion, ConfigMap", config, none(v1), 1},
		{"no apiVersion, base's ConfigMap", common, none(v1), 1},
		{"no apiVersion, ClusterType", clusterType, none(ours), 1},
		{"no apiVersion, SchedulingPolicy", policy, none(ours), 1},
		{"no apiVersion, WorkloadRegistration", registration, none(ours), 1},
		{"no apiVersion, Workload", workload, none(ours), 1},
		{"no apiVersion, Template", template, none(ours), 1},
		{"no apiVersion, BaseRepo", repos, none(ours), 1},
		{"null apiVersion", clusterType, replace(ours, "apiVersion:\n"), 1},
		{"apiVersion in another case", config, replace("v1", "V1"), 1},
		{"apiVersion of another version", config, replace("v1", "v2"), 1},
		{"apiVersion with a group", config, replace("v1", "core/v1"), 1},
		{"apiVersion of the other kinds", config, replace("v1", "scheduler.kalypso.io/v1alpha1"), 2},
		{"apiVersion of a ConfigMap", clusterType, replace("scheduler.kalypso.io/v1alpha1", "v1"), 1},
		{"apiVersion without group", clusterType, replace("scheduler.kalypso.io/", ""), 1},
		{"apiVersion without version", clusterType, replace("/v1alpha1", ""), 1},
		{"apiVersion without a slash", clusterType, replace("io/v1", "iov1"), 1},
		{"group misspelt", clusterType, replace("scheduler.", "schedular."), 1},
		{"group with letters swapped", policy, replace("kalypso", "kaylpso"), 1},
		{"group in another case", registration, replace("scheduler.", "Scheduler."), 1},
		{"group misspelt, Workload", workload, replace("scheduler.", "schedulr."), 1},
		{"version in another case", clusterType, replace("v1alpha1", "V1alpha1"), 1},
		{"another version", workload, replace("v1alpha1", "v1beta1"), 1},
		{"kind in another case, ours", clusterType, replace("ClusterType", "Clustertype"), 2},
		{"kind cut short", registration, replace("WorkloadRegistration", "WorkloadRegistratio"), 2},
		{"kind that is another one", registration, replace("WorkloadRegistration", "Workload"), 2},
		{"no kind", config, none("kind: ConfigMap\n"), 1},
		{"no kind, ours", workload, none("kind: Workload\n"), 1},
		{"no apiVersion and no kind", config, none(v1 + "kind: ConfigMap\n"), 1},
		{"key of the label misspelt", config, replace("platform-config", "platform-confg"), 6},
		{"label in another case", config, replace(`"true"`, `"True"`), 6},
		{"label without a value", config, replace(` "true"`, ""), 6},
		{"labels misspelt", config, replace("labels", "lables"), 5},
		{"labels misspelt, ClusterType", clusterType, replace("labels", "label"), 5},
		{"label beside the labels", config, replace("  labels:\n    platform-config: \"true\"\n    region: west", "  platform-config: \"true\"\n  region: west"), 5},
		{"labels beside the metadata", config, replace("  labels:\n    platform-config: \"true\"\n    region: west", "labels:\n  platform-config: \"true\"\n  region: west"), 5},
		{"labels beside the metadata, ClusterType", clusterType, replace("  labels:\n  ", "labels:\n"), 5},
		{"no name", config, none("  name: west\n"), 4},
		{"cut off in apiVersion", config, cutBefore("Version"), 1},
		{"cut off before the kind", config, cutBefore("kind"), 1},
		{"cut off in the kind", config, cutBefore("Map"), 2},
		{"cut off before metadata", config, cutBefore("metadata"), 1},
		{"cut off before the labels", config, cutBefore("  labels"), 1},
		{"cut off in the labels", config, cutBefore("orm-config"), 5},
		{"cut off in the label", config, cutBefore(`ue"`), 6},
		{"cut off before the data", config, cutBefore("\ndata"), 1},
		{"cut off in front of the data", config, cutBefore("\n  REGION"), 1},
		{"cut off before the spec", clusterType, cutBefore("spec"), 1},
		{"cut off in the spec", clusterType, cutBefore("  namespaceService"), 8},
		{"cut off in the kind, Workload", registration, cutBefore("Registration"), 2},
		{"cut off before the spec, Workload", workload, cutBefore("spec"), 1},
		{"cut off before the targets", workload, cutBefore("\n    - name"), 1},
		{"empty, ConfigMap", config, instead(""), 1},
		{"empty, ClusterType", clusterType, instead("\n"), 1},
		{"empty, Workload", workload, instead("---\n"), 1},
		{"a comment alone", policy, instead("# policy\n"), 1},
		{"an empty object", registration, instead("{}\n"), 1},
		{"no YAML", policy, cutBefore("ector:"), 6},
		{"no YAML, nothing of ours in it", clusterType, instead("a: [\n"), 1},
		{"git-crypt", config, instead(gitCrypt), 1},
		{"git-crypt, Workload", workload, instead(gitCrypt), 1},
		{"git-lfs", clusterType, instead(lfs), 1},
		{"git-lfs, Workload", workload, instead(lfs), 1},
		{"sops, all of it", config, encrypted, 1},
		{"sops, ClusterType", clusterType, encrypted, 1},
		{"sops, Workload", workload, encrypted, 1},
		{"sops, the data", config, func(s string) string {
			return strings.Replace(s, "REGION: west", "REGION: ENC[AES256_GCM,data:Zm9v,type:str]", 1) + "sops:\n  encrypted_regex: ^data$\n"
		}, 10},
		{"sops, the labels", config, func(s string) string {
			return strings.Replace(s, "region: west", "region: ENC[AES256_GCM,data:Zm9v,type:str]", 1) + "sops:\n  encrypted_regex: ^labels$\n"
		}, 10},
		{"list without items", config, instead("apiVersion: v1\nkind: List\n"), 1},
		{"list of a text", config, instead("apiVersion: v1\nkind: List\nitems: none\n"), 3},
		{"list cut off in an item", config, instead("apiVersion: v1\nkind: List\nitems:\n-\n"), 4},
		{"list without apiVersion", config, instead("kind: List\nitems:\n- {}\n"), 1},
		{"list that holds one", config, func(s string) string {
			return "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.Replace(strings.TrimSpace(s), "ConfigMap", "configMap", 1), "\n", "\n  ") + "\n"
		}, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			input := missRepos(t)
			ref, file, _ := strings.Cut(test.file, "/")
			repo, branch, _ := strings.Cut(ref, "@")
			good := string(input.Tree(repo, branch).Files[file])
			bad := test.to(good)
			if bad == good {
				t.Fatal("the file is not changed")
			}
			input.Write(repo, branch, file, []byte(bad))
			p := faultPlan(t, input)
			if lost := losses(input, p); len(lost) > 0 {
				t.Errorf("lost: %q", lost)
			}
			if got, want := errorsIn(p, repo, branch, file), fmt.Sprintf("%s:%d", file, test.line); !slices.Contains(got, want) {
				t.Errorf("errors at %q, want %s; problems %v", got, want, p.Problems)
			}
			if !p.Incomplete {
				t.Error("the plan does not say that it is incomplete")
			}
			input.Write(repo, branch, file, []byte(good))
			if p := faultPlan(t, input); len(p.Changes)+len(p.Problems) > 0 {
				t.Errorf("mended: changes %q, problems %v", changes(p), p.Problems)
			}
		})
	}
}

// TestNearMissHoldsWhatItMayHave proves that a near miss holds back no more
// than it may have given.
func TestNearMissHoldsWhatItMayHave(t *testing.T) {
	input := missRepos(t)
	good := input.Tree("control", "dev").Files["config.yaml"]
	input.Write("control", "dev", "config.yaml", bytes.Replace(good, []byte("ConfigMap"), []byte("Configmap"), 1))
	input.Write("control", "dev", "east.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: east, labels: {platform-config: \"true\", region: east}}\ndata: {NEW: value}\n"))
	want := []string{"modify large/cellar-test/platform-config.yaml", "modify large/shop-test/platform-config.yaml", "modify large/stock-test/platform-config.yaml"}
	if p := faultPlan(t, input); !slices.Equal(changes(p), want) {
		t.Errorf("changes %q, want %q", changes(p), want)
	}
	t.Run("an empty file that nothing came from", func(t *testing.T) {
		input := missRepos(t)
		input.Write("control", "dev", "empty.yaml", nil)
		input.Write("control", "dev", "schema.yaml", fmt.Appendf(nil, "%skind: ConfigSchema\nmetadata: {name: keys}\nspec: {schema: '{}'}\n", faultHead))
		if p := faultPlan(t, input); len(p.Problems) != 1 || p.Problems[0].Severity != model.Warning {
			t.Errorf("problems %v", p.Problems)
		}
	})
}

// TestLists proves that lists are read as Flux reads them, with the places of
// what they hold.
func TestLists(t *testing.T) {
	list := func(kind string, objects ...string) string {
		text := "apiVersion: v1\nkind: " + kind + "\nitems:\n"
		for _, object := range objects {
			text += "- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ") + "\n"
		}
		return text
	}
	for _, nested := range []bool{false, true} {
		input := missRepos(t)
		dev := input.Tree("control", "dev").Files
		files := []string{"config.yaml", "small.yaml", "large.yaml", "policy.yaml", "others.yaml", "schema.yaml"}
		var objects []string
		for _, file := range files {
			objects = append(objects, string(dev[file]))
			input.Remove("control", "dev", file)
		}
		text := list("List", objects...)
		if nested {
			text = list("List", list("List", objects[1:]...), list("ConfigMapList", objects[0]), "apiVersion: apps/v1\nkind: Deployment", "apiVersion: v1\nkind: List\nitems: []")
		}
		input.Write("control", "dev", "all.yaml", []byte(text))
		p := faultPlan(t, input)
		if len(p.Changes)+len(p.Problems) > 0 || len(p.Assignments) != 6 {
			t.Fatalf("nested %v: %d assignments, changes %q, problems %v", nested, len(p.Assignments), changes(p), p.Problems)
		}
		i := slices.IndexFunc(p.Assignments, func(a plan.Assignment) bool { return a.ClusterType == "small" })
		j := slices.IndexFunc(p.Assignments[i].Config, func(v plan.ConfigValue) bool { return v.Key == "REGION" })
		at := p.Assignments[i].Config[j].Source.Position
		if line := 1 + strings.Count(text[:strings.Index(text, "REGION:")], "\n"); at.File != "all.yaml" || at.Line != line {
			t.Errorf("nested %v: REGION is at %s, want line %d", nested, at, line)
		}
	}
	t.Run("a list in itself", func(t *testing.T) {
		input := missRepos(t)
		input.Write("control", "dev", "all.yaml", []byte("&l\napiVersion: v1\nkind: List\nitems: [*l, *l, {<<: *l}]\n"))
		if p := faultPlan(t, input); len(p.Changes) > 0 {
			t.Errorf("changes %q", changes(p))
		}
	})
}

// FuzzOneFile spoils one file of an up-to-date model: it cuts it off at any byte,
// changes a bit or the case of a word, takes a line or a letter away, or puts
// what encrypts it, points to it or is left of it into its place. No plan takes
// anything from the GitOps branch then without an error that names the file.
//
// What is excused is a file that still is what it was in form and says something
// else: the same documents with the same kinds, and the same fields around their
// content, or a file that is cut between two documents. Another value of a label,
// a key less, a target less: that is how users change things.
func FuzzOneFile(f *testing.F) {
	inputs := []*modeltest.Repositories{missRepos(f)}
	for _, name := range []string{"hello-world", "union", "path", "shell"} {
		archive, err := os.ReadFile("testdata/inputs/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		input := modeltest.Parse(string(archive))
		mergePlan(input, spoiledPlan(f, input, "", "", "", nil))
		if p := spoiledPlan(f, input, "", "", "", nil); len(p.Changes) > 0 || len(p.Assignments) == 0 {
			f.Fatalf("%s: changes %q", name, changes(p))
		}
		inputs = append(inputs, input)
	}
	for way := range uint8(spoilings) {
		for file := range uint8(12) {
			f.Add(uint8(0), file, way, uint16(17*file))
			f.Add(file, file, way, uint16(40+file))
		}
	}
	f.Fuzz(func(t *testing.T, n, file, way uint8, at uint16) {
		input := inputs[int(n)%len(inputs)]
		var files []string
		for _, branch := range input.Branches() {
			if repo, name, _ := strings.Cut(branch, "@"); !strings.HasSuffix(repo, "gitops") {
				for _, path := range slices.Sorted(maps.Keys(input.Tree(repo, name).Files)) {
					if strings.HasSuffix(path, ".yaml") && !strings.HasPrefix(path, ".") {
						files = append(files, branch+"/"+path)
					}
				}
			}
		}
		ref, path, _ := strings.Cut(files[int(file)%len(files)], "/")
		repo, branch, _ := strings.Cut(ref, "@")
		good := input.Tree(repo, branch).Files[path]
		bad := spoil(good, way, int(at))
		p := spoiledPlan(t, input, repo, branch, path, bad)
		lost := losses(input, p)
		if len(lost) > 0 && len(errorsIn(p, repo, branch, path)) == 0 && !saysSomethingElse(good, bad, way%spoilings == takeLine) {
			t.Errorf("%s/%s: %q is lost, problems %v, the file is\n%s", ref, path, lost, p.Problems, bad)
		}
	})
}

// spoiledReader reads a model in which one file has another content.
type spoiledReader struct {
	input              *modeltest.Repositories
	repo, branch, path string
	content            []byte
}

func (r *spoiledReader) Read(_ context.Context, ref model.Reference) (*model.Tree, error) {
	repo := strings.TrimPrefix(ref.Repo, modeltest.Forge)
	tree := r.input.Tree(repo, ref.Branch)
	if tree == nil || ref.Commit != "" && ref.Commit != tree.Commit {
		return nil, fmt.Errorf("%s: %w", ref, model.ErrNotFound)
	}
	if repo == r.repo && ref.Branch == r.branch {
		spoiled := *tree
		spoiled.Files = maps.Clone(tree.Files)
		spoiled.Files[r.path] = r.content
		return &spoiled, nil
	}
	return tree, nil
}

// spoiledPlan plans a model in which one file has another content.
func spoiledPlan(t testing.TB, input *modeltest.Repositories, repo, branch, path string, content []byte) *plan.Plan {
	t.Helper()
	control := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
	env, err := model.LoadEnvironment(context.Background(), &spoiledReader{input, repo, branch, path, content}, "dev", control)
	if err != nil {
		t.Fatal(err)
	}
	return newPlan(t, env, input.Tree("gitops", "dev"))
}

const (
	spoilings = 9
	takeLine  = 2
)

// spoil does one of several things to a file, at a place of it.
func spoil(content []byte, way uint8, at int) []byte {
	at %= max(1, len(content))
	lineStart := bytes.LastIndexByte(content[:at], '\n') + 1
	lineEnd := len(content)
	if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
		lineEnd = at + i + 1
	}
	word := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	bad := slices.Clone(content)
	switch way % spoilings {
	case 0:
		return bad[:at]
	case 1:
		bad[at] ^= 1 << (at % 7)
	case takeLine:
		return slices.Delete(bad, lineStart, lineEnd)
	case 3:
		for i := at; i < len(bad) && word(bad[i]); i++ {
			bad[i] ^= 0x20
		}
	case 4:
		return nil
	case 5:
		return []byte(lfs)
	case 6:
		return append([]byte("\x00GITCRYPT\x00"), bad[at:]...)
	case 7:
		return slices.Delete(bad, at, at+1)
	case 8: // the letter of an apiVersion or a kind
		for _, field := range []string{"kind: ", "apiVersion: "}[at%2:] {
			if i := bytes.Index(bad, []byte(field)); i >= 0 {
				i += len(field) + at%6
				bad[min(i, len(bad)-1)] = 'x'
				break
			}
		}
	}
	return bad
}

// saysSomethingElse says whether a file has kept its form: its documents are
// those that it had, but for their content, or the first of them. A line that is
// taken away may be the labels, or one of them.
func saysSomethingElse(good, bad []byte, labelsToo bool) bool {
	before, after := forms(good, labelsToo), forms(bad, labelsToo)
	if len(after) == 0 || len(after) > len(before) {
		return false
	}
	for i, form := range after {
		if form != before[i] {
			return false
		}
	}
	return true
}

// forms says of each document what is fixed about it: apiVersion, kind and
// which fields of the document, its metadata and a Workload's spec have a value.
func forms(content []byte, labelsToo bool) []string {
	var all []string
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			return nil
		}
		form := fmt.Sprint(object["apiVersion"], object["kind"])
		add := func(prefix string, fields any) {
			m, _ := fields.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if m[key] != nil || prefix == "metadata." {
					form += " " + prefix + key
				}
			}
		}
		add("", object)
		if metadata, ok := object["metadata"].(map[string]any); ok && !labelsToo {
			add("metadata.", metadata)
			if labels, ok := metadata["labels"].(map[string]any); ok && object["kind"] == "ConfigMap" {
				form += fmt.Sprint(labels["platform-config"])
			}
		}
		if object["kind"] == "Workload" {
			add("spec.", object["spec"])
		}
		if object != nil {
			all = append(all, form)
		}
	}
}
