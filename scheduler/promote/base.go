package promote

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// mainBase is the name of the BaseRepo whose commit is promoted, where a
// branch has several.
const mainBase = "main"

// base is a BaseRepo object in a file that is edited in place.
type base struct {
	tree    *model.Tree
	file    string
	content []byte
	name    string
	node    *yaml.Node // the object's spec
	index   int        // of the document in the file
	spec    baseSpec
}

type baseSpec struct {
	Repo   string `yaml:"repo"`
	Branch string `yaml:"branch"`
	Path   string `yaml:"path"`
	Commit string `yaml:"commit"`
}

func (b *base) position() model.Position {
	return model.Position{Repo: redact.URL(b.tree.Repo), Branch: b.tree.Branch, File: b.file, Line: b.node.Line}
}

// findBase finds the BaseRepo of an environment's branch: the only one, or the
// one that is named main. Where its file lies does not matter, if it is read as
// a part of the model.
func findBase(tree *model.Tree, folder string) (*base, error) {
	var all []*base
	for _, file := range model.Files(tree, folder) {
		for _, b := range basesIn(file, tree.Files[file]) {
			b.tree = tree
			all = append(all, b)
		}
	}
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(b *base) bool { return b.name != mainBase })
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("branch %s of %s has no BaseRepo that is the only one or the only one named %s", tree.Branch, redact.URL(tree.Repo), mainBase)
	}
	return all[0], nil
}

// basesIn returns the BaseRepo objects of a file. What is no YAML holds none:
// it is the model's to report.
func basesIn(file string, content []byte) []*base {
	if !bytes.Contains(content, []byte("BaseRepo")) {
		return nil
	}
	var found []*base
	documents, _ := yamlpos.Documents(bytes.NewReader(content))
	for index, document := range documents {
		var object struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
			Metadata   struct {
				Name string `yaml:"name"`
			} `yaml:"metadata"`
			Spec yaml.Node `yaml:"spec"`
		}
		if document.Decode(&object) != nil || object.Kind != "BaseRepo" || !strings.HasPrefix(object.APIVersion, "scheduler.kalypso.io/") {
			continue
		}
		b := &base{file: file, content: content, name: object.Metadata.Name, node: &object.Spec, index: index}
		if object.Spec.Decode(&b.spec) != nil {
			continue
		}
		found = append(found, b)
	}
	return found
}

// pinned returns the file with another commit in the object, and everything
// else, comments and order too, as it was.
func (b *base) pinned(commit string) ([]byte, error) {
	edited, err := edit.SetField(b.content, b.index, []string{"spec", "commit"}, commit)
	if err != nil {
		return nil, fmt.Errorf("setting commit in %s: %w; set it by hand once", b.position(), err)
	}
	return edited, nil
}
