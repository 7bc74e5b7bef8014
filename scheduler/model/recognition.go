package model

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// maxSlip is how many letters a misspelt name may differ in.
const maxSlip = 2

// kindList is the kind of v1 that holds other objects.
const kindList = "List"

// sopsField is what sops adds to a document, and encryptedValue begins every
// value that it has encrypted.
const (
	sopsField      = "sops"
	encryptedValue = "ENC["
)

// unreadableContent says what a file is instead of the YAML that its name promises, ""
// for YAML.
func unreadableContent(content []byte) (message, hint string) {
	switch {
	case bytes.HasPrefix(content, []byte("\x00GITCRYPT\x00")):
		return "the file is encrypted by git-crypt", "commit it decrypted, or name it in " + ignoreFile
	case bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")):
		return "the file is a git-lfs pointer, its content is somewhere else", "commit the content itself, or name the file in " + ignoreFile
	}
	return "", ""
}

// chartFolders returns the folders of Helm charts among files.
func chartFolders(files []string) []string {
	var folders []string
	for _, file := range files {
		if strings.HasSuffix(file, "Chart.yaml") && path.Base(file) == "Chart.yaml" {
			folders = append(folders, strings.TrimPrefix(path.Dir(file)+"/", "./"))
		}
	}
	return folders
}

// ofChart says whether a file is part of a Helm chart. There a template need be
// no YAML, and a file without a kind misses none.
func ofChart(file string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		rest, below := strings.CutPrefix(file, folder)
		if !below {
			return false
		}
		first, _, deeper := strings.Cut(rest, "/")
		if deeper {
			return first == "templates" || first == "charts" || first == "ci"
		}
		return first == "Chart.yaml" || strings.HasPrefix(first, "values")
	})
}

// A miss is a document that was meant as one of the platform model's and is not
// written like one.
type miss struct {
	kind          string   // that was meant, "" when that cannot be known
	field         []string // that is wrong
	message, hint string
}

// diagnostic places a miss.
func (m *miss) diagnostic(node *yaml.Node, position Position) Diagnostic {
	return Diagnostic{Severity: Error, Position: positionAt(node, position, m.field), Message: m.message, Hint: m.hint}
}

// nearMiss says what a document was meant as that is not of the platform's
// group, nor a platform ConfigMap. It is nil for what is somebody else's: of
// another group, or of a core kind.
func nearMiss(node *yaml.Node, apiVersion, kind string) *miss {
	group, _, grouped := strings.Cut(apiVersion, "/")
	wrongVersion := func(kind, right string) *miss {
		m := &miss{kind: kind, field: []string{"apiVersion"}, message: fmt.Sprintf("apiVersion %q is not known", apiVersion), hint: "write " + right}
		if apiVersion == "" {
			m.message = "apiVersion is missing"
		}
		return m
	}
	switch {
	case strings.HasPrefix(apiVersion, encryptedValue) || strings.HasPrefix(kind, encryptedValue):
		return &miss{message: "the document is encrypted by sops", hint: "leave at least apiVersion, kind and metadata unencrypted, or name the file in " + ignoreFile}
	case slip(group, v1alpha1.Group) || slip(apiVersion, v1alpha1.APIVersion):
		return wrongVersion(meantKind(kind), v1alpha1.APIVersion)
	case apiVersion == "v1" && kind == kindConfigMap:
		return unmarked(node)
	case grouped && (strings.Contains(group, ".") || !likeKind(kind, kindConfigMap)):
		return nil
	case kind == "":
		return withoutKind(node, apiVersion)
	case likeKind(kind, kindConfigMap):
		if apiVersion != "v1" {
			return wrongVersion(kindConfigMap, "v1")
		}
		if kind == "Config" && slices.ContainsFunc([]string{"clusters", "contexts", "users"}, func(name string) bool { return yamlpos.Has(node, name) }) {
			return nil // how kubectl is configured
		}
		return &miss{kind: kindConfigMap, field: []string{"kind"}, message: fmt.Sprintf("kind %q is not known", kind), hint: "did you mean ConfigMap?"}
	case isList(kind) && apiVersion != "v1" && yamlpos.Has(node, "items"):
		return wrongVersion("", "v1")
	case apiVersion == "v1" && kind != kindList && (strings.EqualFold(kind, kindList) || cut(kind, kindList) || yamlpos.Has(node, "items") && slip(kind, kindList)):
		return &miss{field: []string{"kind"}, message: fmt.Sprintf("kind %q is not known", kind), hint: "did you mean List?"}
	case meantKind(kind) != "" && (yamlpos.Has(node, "metadata") || yamlpos.Has(node, "spec") || len(node.Content) <= 4):
		return wrongVersion(meantKind(kind), v1alpha1.APIVersion)
	}
	return nil
}

// withoutKind says whether a document that has no kind was meant to have one.
func withoutKind(node *yaml.Node, apiVersion string) *miss {
	object := yamlpos.Has(node, "metadata") && (yamlpos.Has(node, "spec") || yamlpos.Has(node, "data"))
	marked := yamlpos.Text(node, "metadata", "labels", platformConfigLabel) != ""
	alone := yamlpos.Has(node, "apiVersion") && len(node.Content) == 2
	if !object && !marked && !alone && apiVersion != "v1" {
		return nil
	}
	m := &miss{field: []string{"apiVersion"}, message: "kind is missing", hint: "write the kind of the object; is the file cut off?"}
	if marked {
		m.kind = kindConfigMap
	}
	return m
}

// isPlatformConfig says whether a ConfigMap is the platform's configuration.
// Those of App Configuration need no label.
func isPlatformConfig(node *yaml.Node) bool {
	return yamlpos.Text(node, "metadata", "labels", platformConfigLabel) == "true" ||
		strings.HasPrefix(yamlpos.Text(node, "metadata", "name"), AppConfigPrefix)
}

// unmarked says whether a ConfigMap without the platform's label was meant to
// have it.
func unmarked(node *yaml.Node) *miss {
	if yamlpos.Text(node, "metadata", "name") == "" && yamlpos.Text(node, "metadata", "generateName") == "" {
		return &miss{kind: kindConfigMap, field: []string{"metadata"}, message: "metadata.name is missing", hint: "write the name and the labels; is the file cut off?"}
	}
	hint := "write " + platformConfigLabel + `: "true" among metadata.labels if it is the platform's configuration`
	for _, path := range [][]string{nil, {"metadata"}} {
		object := yamlpos.Value(node, path...)
		for i := 0; i+1 < len(object.Content); i += 2 {
			key := object.Content[i].Value
			atPlace := key == "labels" && path != nil
			if slip(key, "labels") || strings.HasPrefix(key, "labels") && !atPlace || strings.Contains(key, platformConfigLabel) || slip(key, platformConfigLabel) {
				return &miss{kind: kindConfigMap, field: append(path, key), message: "unknown field " + strings.Join(append(path, key), "."), hint: hint}
			}
		}
	}
	labels := yamlpos.Value(node, "metadata", "labels")
	if yamlpos.IsNull(labels) {
		return nil
	}
	if labels.Kind != yaml.MappingNode {
		return &miss{kind: kindConfigMap, field: []string{"metadata", "labels"}, message: "metadata.labels must be an object", hint: hint}
	}
	for i := 0; i+1 < len(labels.Content); i += 2 {
		key, value := labels.Content[i].Value, yamlpos.Resolve(labels.Content[i+1])
		text := value.Value
		if yamlpos.IsNull(value) {
			text = ""
		}
		switch {
		case key == platformConfigLabel && (value.Kind != yaml.ScalarNode || text == "" || strings.EqualFold(text, "true") || slip(text, "true") || cut(text, "true") || strings.HasPrefix(text, encryptedValue)):
			return &miss{kind: kindConfigMap, field: []string{"metadata", "labels", key}, message: fmt.Sprintf("label %s is %q", key, text), hint: hint}
		case slip(key, platformConfigLabel):
			return &miss{kind: kindConfigMap, field: []string{"metadata", "labels", key}, message: fmt.Sprintf("label %s is not known", key), hint: "did you mean " + platformConfigLabel + "?"}
		}
	}
	return nil
}

// emptyField returns the field that a document is without which its kind is for,
// "" for none. Such a document may be meant so, and it looks like one whose file
// is cut off.
func emptyField(node *yaml.Node, kind string) string {
	switch {
	case kind == kindConfigMap && yamlpos.IsNull(yamlpos.Value(node, "data")) && yamlpos.IsNull(yamlpos.Value(node, "binaryData")):
		return "data"
	case kind == v1alpha1.KindWorkload && yamlpos.IsNull(yamlpos.Value(node, "spec", "deploymentTargets")):
		return "deploymentTargets"
	case (kind == v1alpha1.KindClusterType || kind == v1alpha1.KindWorkload) && saysNoLabels(yamlpos.Value(node, "metadata")):
		return "labels"
	}
	targets := yamlpos.Value(node, "spec", "deploymentTargets")
	if kind == v1alpha1.KindWorkload && targets.Kind == yaml.SequenceNode && slices.ContainsFunc(targets.Content, saysNoLabels) {
		return "labels"
	}
	return ""
}

// saysNoLabels says whether a mapping has the field labels with nothing in it,
// which is what is left where its lines have slipped to the left.
func saysNoLabels(node *yaml.Node) bool {
	node = yamlpos.Resolve(node)
	return node != nil && node.Kind == yaml.MappingNode && yamlpos.Has(node, "labels") && yamlpos.IsNull(yamlpos.Value(node, "labels"))
}

// meantKind returns the kind of the platform model that a kind is, or is most
// likely a misspelling of, "" for none.
func meantKind(kind string) string {
	for _, known := range append(v1alpha1.Kinds(), kindConfigMap) {
		if likeKind(kind, known) {
			return known
		}
	}
	return ""
}

// likeKind says whether a kind is known, or that with a slip, or cut off.
func likeKind(kind, known string) bool {
	return kind == known || slip(kind, known) || cut(kind, known)
}

// isList says whether a kind is that of a list of objects that concern the
// platform model.
func isList(kind string) bool {
	of, ok := strings.CutSuffix(kind, kindList)
	return ok && (of == "" || of == kindConfigMap || isKind(of))
}

// slip says whether text is not name, and differs from it in a few letters or
// in upper and lower case.
func slip(text, name string) bool {
	if text == name || len(text) < len(name)-maxSlip || len(text) > len(name)+maxSlip {
		return false
	}
	return distance(strings.ToLower(text), strings.ToLower(name)) <= maxSlip
}

// cut says whether text is name without its end.
func cut(text, name string) bool {
	return text != "" && len(text) < len(name) && strings.HasPrefix(name, text)
}
