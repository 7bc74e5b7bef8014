package validate

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// platformConfigLabel marks the platform's configuration.
const platformConfigLabel = "platform-config"

// passedOver reports what lies in a repository of the platform team and is not
// read, or is read otherwise than Flux does it.
func (e *examination) passedOver() {
	for _, s := range e.Trees {
		files := model.Files(s.Tree, s.Reference.Path)
		e.skipped(s)
		for _, file := range files {
			content := s.Tree.Files[file]
			if isKustomization(file) {
				e.kustomization(s, file, files)
			}
			if bytes.Contains(content, []byte(kindSecret)) && bytes.Contains(content, []byte(platformConfigLabel)) {
				e.secrets(s, file)
			}
		}
	}
}

// skipped reports links and submodules, unless an ignore file names them. A link
// with the extension of a file that is no YAML stands for none of the platform's.
func (e *examination) skipped(s Source) {
	for _, entry := range s.Tree.Skipped {
		extension := path.Ext(entry.Path)
		if entry.What == model.SymbolicLink && extension != "" && extension != ".yaml" && extension != ".yml" {
			continue
		}
		if !model.Within(entry.Path, s.Reference.Path) && !model.Within(s.Reference.Path, entry.Path) || isIgnored(s.Tree, entry.Path) {
			continue
		}
		e.report(Finding{
			Rule: SkippedFile, Severity: Warning, Position: at(s, entry.Path),
			Message: fmt.Sprintf("a %s is not followed: nothing is read from here", entry.What),
			Hint:    "commit the files themselves, or name it in .sourceignore if it is no part of the platform model",
		})
	}
}

// isIgnored says whether an ignore file names an entry that is no file, or all that
// could be in it.
func isIgnored(tree *model.Tree, entry string) bool {
	if path.Ext(entry) == "" {
		entry = path.Join(entry, "any.yaml")
	}
	with := *tree
	with.Files = map[string][]byte{entry: {}}
	for file, content := range tree.Files {
		if path.Base(file) == ".sourceignore" {
			with.Files[file] = content
		}
	}
	return len(model.Files(&with, "")) == 0
}

func at(s Source, file string) model.Position {
	return model.Position{Repo: s.Reference.Repo, Branch: s.Reference.Branch, File: file}
}

func isKustomization(file string) bool {
	base := path.Base(file)
	return base == "kustomization.yaml" || base == "kustomization.yml"
}

// kustomization reports a kustomization.yaml that leaves out some of the platform's
// files beside or below it, or changes what is in them. The files are sorted.
func (e *examination) kustomization(s Source, file string, files []string) {
	read, _ := yamlpos.Documents(bytes.NewReader(s.Tree.Files[file])) // the model reports what is no YAML
	if len(read) != 1 {
		return
	}
	root, folder := read[0].Content[0], path.Dir(file)
	var listed []string
	for _, field := range []string{"resources", "bases"} {
		list := yamlpos.Value(root, field)
		if list == nil {
			continue
		}
		for _, item := range list.Content {
			listed = append(listed, path.Join(folder, yamlpos.Resolve(item).Value))
		}
	}
	var left []string
	objects := false
	for _, object := range files {
		content := s.Tree.Files[object]
		if !model.Within(object, folder) || isKustomization(object) ||
			!bytes.Contains(content, []byte(v1alpha1.Group+"/")) && !bytes.Contains(content, []byte(platformConfigLabel)) {
			continue
		}
		objects = true
		if !slices.ContainsFunc(listed, func(l string) bool { return model.Within(object, l) }) {
			left = append(left, strings.TrimPrefix(object, folder+"/"))
		}
	}
	f := Finding{Rule: KustomizationFile, Severity: Warning, Position: at(s, file), Hint: "list all files and change nothing in them, or remove this file"}
	if len(left) > 0 {
		f.Position.Line, f.Position.Column = 1, 1
		if key, _ := yamlpos.Field(root, "resources"); key != nil {
			f.Position.Line, f.Position.Column = key.Line, key.Column
		}
		f.Message = "the scheduler reads every file, and Flux only what this one lists; it lacks " + clause.List(left)
		e.report(f)
	}
	for key := range yamlpos.Fields(root) {
		if objects && !plainKustomization[key.Value] {
			f.Position.Line, f.Position.Column = key.Line, key.Column
			f.Message = fmt.Sprintf("the scheduler reads the files as they stand, and Flux applies what %s makes of them", key.Value)
			e.report(f)
		}
	}
}

// plainKustomization are the fields of a kustomization.yaml that change nothing.
var plainKustomization = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "resources": true, "bases": true}

const kindSecret = "Secret"

// secrets reports the Secrets of a file that are labelled as platform
// configuration.
func (e *examination) secrets(s Source, file string) {
	read, _ := yamlpos.Documents(bytes.NewReader(s.Tree.Files[file])) // the model reports what is no YAML
	for _, document := range read {
		for _, node := range withItems(document.Content[0]) {
			if yamlpos.Text(node, "apiVersion") != "v1" || yamlpos.Text(node, "kind") != kindSecret || yamlpos.Text(node, "metadata", "labels", platformConfigLabel) == "" {
				continue
			}
			f := Finding{
				Rule: PlatformSecret, Severity: Warning, Position: at(s, file),
				Message: fmt.Sprintf("Secret %s is not read: platform configuration is in ConfigMaps only", yamlpos.Text(node, "metadata", "name")),
				Hint:    "put what is not secret into a ConfigMap; for the rest write the name of its entry in a secret store there",
			}
			label, _ := yamlpos.Closest(node, "metadata", "labels", platformConfigLabel)
			f.Position.Line, f.Position.Column = label.Line, label.Column
			f.object = object{kind: kindSecret, name: yamlpos.Text(node, "metadata", "name"), repo: f.Position.Repo, branch: f.Position.Branch, file: file}
			e.report(f)
		}
	}
}

// withItems returns an object, or those in a list of objects.
func withItems(node *yaml.Node) []*yaml.Node {
	if items := yamlpos.Value(node, "items"); items != nil && strings.HasSuffix(yamlpos.Text(node, "kind"), "List") {
		return items.Content
	}
	return []*yaml.Node{node}
}
