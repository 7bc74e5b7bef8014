package publish

import (
	"bytes"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// namespacesGone returns the namespaces that clusters of a type have by the files of
// before and not by those of after, sorted.
func namespacesGone(p *plan.Plan, before, after map[string][]byte) []pair {
	gone := map[pair]bool{}
	for _, c := range p.Changes {
		if c.Action == plan.Add {
			continue
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
		for _, name := range namespacesIn(content) {
			if ok {
				delete(gone, pair{at.clusterType, name})
			}
		}
	}
	return slices.SortedFunc(maps.Keys(gone), comparePairs)
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
