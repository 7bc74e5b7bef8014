package publish

import (
	"bytes"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// maxParsed bounds how many files are parsed for a text, which shows far fewer. A plan
// may change a hundred thousand, and is published again with every run.
const maxParsed = 2000

// namespacesGone returns the namespaces that clusters of a type have by the files of
// before and not by those of after, sorted; of very many only some.
func namespacesGone(p *plan.Plan, before, after map[string][]byte) []pair {
	gone := map[pair]bool{}
	parsed := 0
	for _, c := range p.Changes {
		if c.Action == plan.Add || !bytes.Contains(before[c.Path], []byte("Namespace")) {
			continue
		}
		if parsed++; parsed > maxParsed {
			break
		}
		at, ok := pairOf(p.GitOps.Path, c.Path)
		for _, name := range namespacesIn(before[c.Path]) {
			if ok {
				gone[pair{at.clusterType, name}] = true
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for file, content := range after {
		at, ok := pairOf(p.GitOps.Path, file)
		if !ok || !mayName(content, func(name string) bool { return gone[pair{at.clusterType, name}] }) {
			continue
		}
		for _, name := range namespacesIn(content) {
			delete(gone, pair{at.clusterType, name})
		}
	}
	return slices.SortedFunc(maps.Keys(gone), comparePairs)
}

var nameValues = regexp.MustCompile(`name["']?:\s*["']?([a-z0-9.-]+)`)

// mayName reports, without parsing it, whether a file may have an object of one of some
// names.
func mayName(content []byte, isOne func(string) bool) bool {
	return slices.ContainsFunc(nameValues.FindAllSubmatch(content, -1), func(m [][]byte) bool { return isOne(string(m[1])) })
}

// namespacesIn returns the names of the Namespaces in a file. What is no YAML has none.
func namespacesIn(content []byte) []string {
	if !bytes.Contains(content, []byte("Namespace")) {
		return nil
	}
	var names []string
	documents, _ := yamlpos.Documents(bytes.NewReader(content))
	for _, document := range documents {
		if name := namespaceName(document); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func namespaceName(document *yaml.Node) string {
	var object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
	}
	if document.Decode(&object) != nil || object.APIVersion != "v1" || object.Kind != "Namespace" {
		return ""
	}
	return object.Metadata.Name
}
