package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"
)

// TestOrderMeansNothing mixes all golden models: the keys of every mapping, the
// documents of every file and the names of the files, and with them policies,
// registrations and whatever else there are several of. No byte of what the
// plan writes may change, and of what it says nothing but places.
func TestOrderMeansNothing(t *testing.T) {
	for name, repos := range goldenInputs(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := unordered(t, repos)
			if !ok {
				t.Skip("says itself that an order decides")
			}
			for seed := range uint64(6) {
				got, _ := unordered(t, mixed(t, repos, rand.New(rand.NewPCG(seed, 0))))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
				}
			}
		})
	}
}

// goldenInputs returns the models of all rules and of the larger plans.
func goldenInputs(t *testing.T) map[string]*modeltest.Repositories {
	t.Helper()
	inputs := map[string]*modeltest.Repositories{}
	for _, file := range ruleFiles(t) {
		_, inputs["rules/"+ruleName(file)] = rule(t, file)
	}
	files, err := filepath.Glob("testdata/inputs/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	const dev = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec:\n  controlPlane: {repo: " + modeltest.Forge + "control, branch: dev}\n"
	for _, file := range files {
		archive, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		repos := modeltest.Parse(string(archive))
		repos.Write("control", "main", ".environments/dev.yaml", []byte(dev))
		inputs["inputs/"+ruleName(file)] = repos
	}
	return inputs
}

// position is a place as messages mention it.
var position = regexp.MustCompile(`[\w-]+@[\w-]+:\S+:\d+`)

// unordered is what a plan says without its places, its lines sorted, and all
// that it writes. It returns false for a model in which the first of two
// objects counts, or whose base is pinned to content that mixing would change.
func unordered(t *testing.T, repos *modeltest.Repositories) (map[string]string, bool) {
	t.Helper()
	p := newPlan(t, environment(t, repos, "dev"), repos.Tree("gitops", "dev"))
	ok := p.Promoted == ""
	nowhere := model.Position{}
	for i := range p.Targets {
		p.Targets[i].Position = nowhere
	}
	for _, a := range p.Assignments {
		for i := range a.Config {
			v := &a.Config[i]
			v.Source.Position = nowhere
			for _, sources := range [][]plan.ConfigSource{v.Sources, v.Overrides} {
				for j := range sources {
					sources[j].Position = nowhere
				}
			}
		}
	}
	for i := range p.Problems {
		p.Problems[i].Position = nowhere
		ok = ok && !strings.Contains(p.Problems[i].Message, "already")
		p.Problems[i].Message = position.ReplaceAllString(p.Problems[i].Message, "somewhere")
	}
	slices.SortFunc(p.Problems, func(a, b plan.Problem) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	said := map[string]string{"": report(p)}
	for _, c := range p.Changes {
		said[c.Path] = string(c.Content)
	}
	return said, ok
}

// mixed returns a model that says the same in another order.
func mixed(t *testing.T, repos *modeltest.Repositories, r *rand.Rand) *modeltest.Repositories {
	t.Helper()
	result := modeltest.Parse("")
	for _, name := range repos.Branches() {
		repo, branch, _ := strings.Cut(name, "@")
		files := repos.Tree(repo, branch).Files
		result.Add(txtar.File{Name: name}) // there also when it is empty
		rename := repo == "control" && !nameMatters(files)
		for _, file := range slices.Sorted(maps.Keys(files)) {
			content := files[file]
			if ext := path.Ext(file); ext == ".yaml" || ext == ".yml" {
				if repo != "gitops" {
					content = mixedFile(t, content, r)
				}
				if rename {
					file = path.Join(path.Dir(file), fmt.Sprintf("%d-%s", r.Uint32(), path.Base(file)))
				}
			}
			result.Write(repo, branch, file, content)
		}
	}
	return result
}

// nameMatters says whether there is a file that is known by its name.
func nameMatters(files map[string][]byte) bool {
	for file := range files {
		if base := path.Base(file); base == ".sourceignore" || base == "Chart.yaml" {
			return true
		}
	}
	return false
}

// mixedFile mixes documents and their keys. What does not parse stays, and so
// does what has anchors, which must stand before their use.
func mixedFile(t *testing.T, content []byte, r *rand.Rand) []byte {
	t.Helper()
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || bytes.Contains(content, []byte("<<")) {
			return content
		}
		mixKeys(&document, r)
		documents = append(documents, &document)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for _, document := range shuffled(r, documents) {
		if err := encoder.Encode(document); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// mixKeys mixes the keys of all mappings but those of a template's manifests:
// they are text of which the order is kept.
func mixKeys(node *yaml.Node, r *rand.Rand) {
	if node.Kind == yaml.MappingNode {
		order := r.Perm(len(node.Content) / 2)
		content := make([]*yaml.Node, 0, len(node.Content))
		for _, i := range order {
			content = append(content, node.Content[2*i], node.Content[2*i+1])
		}
		node.Content = content
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "manifests" && child.Kind == yaml.SequenceNode {
			continue
		}
		mixKeys(child, r)
	}
}
