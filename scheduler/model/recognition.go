package model

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// platformConfigLabel indicators the ConfigMaps that belong to the platform model
// when its value is "true".
const platformConfigLabel = "platform-config"

// kindConfigMap is the one kind of another group that is read.
const kindConfigMap = "ConfigMap"

// A document is one YAML document that belongs to the platform model.
type document struct {
	kind     string
	node     *yaml.Node // a mapping
	position Position
	content  []byte // of the file
	decoded  *any   // a *decoded[Spec] once it has been decoded
}

// documentsOf returns the documents of a file. What is wrong goes to findings, and
// what is wrong with ConfigMaps to configs: not every caller reads those. In a Helm
// chart only what is written exactly like the platform model counts.
func documentsOf(position Position, content []byte, chart bool, findings, configs *findings) []document {
	if beyond := parseLimit(content); beyond != nil {
		findings.oversized(position, content, beyond)
		return nil
	}
	if message, hint := unreadableContent(content); message != "" && !chart {
		position.Line = 1
		findings.add("", errorAt(InvalidYAML, position, hint, "%s", message))
		return nil
	}
	nodes, err := parse(content)
	if err != nil {
		findings.unparsable(position, content, chart, err)
		return nil
	}
	if len(nodes) == 0 && !chart {
		findings.addBlankFile(position)
		return nil
	}
	r := &recognition{chart: chart, findings: findings, configs: configs}
	for _, node := range nodes {
		r.add(node, position)
	}
	for i := range r.documents {
		r.documents[i].content = content
	}
	return r.documents
}

// parseLimit says why a file is not even parsed, nil when it is.
func parseLimit(content []byte) *LimitError {
	switch {
	case content == nil:
		return &LimitError{What: "bytes in it", Max: MaxFile}
	case indicators(content) > maxIndicators:
		return &LimitError{What: "fields, list elements and lines in it", Max: maxIndicators}
	}
	return nil
}

// parse returns what the documents of a YAML stream hold, without those that are
// empty. It takes the stream whole or not at all: what follows an error cannot
// be trusted, and what precedes it may be cut short.
func parse(content []byte) ([]*yaml.Node, error) {
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var nodes []*yaml.Node
	for _, document := range documents {
		for _, node := range document.Content {
			if !yamlpos.IsNull(node) && (node.Kind != yaml.MappingNode || len(node.Content) > 0) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes, nil
}

// recognition finds a file's documents.
type recognition struct {
	chart             bool // the file is part of a Helm chart
	findings, configs *findings
	documents         []document
	seen              map[*yaml.Node]bool // items of lists; an alias can repeat one, and a list that holds it
}

// add takes a document, or what is in it when it is a list.
func (r *recognition) add(node *yaml.Node, position Position) {
	position.Line, position.Column = node.Line, node.Column
	switch node.Kind {
	case yaml.SequenceNode:
		return // a patch, or data
	case yaml.MappingNode:
	default:
		if !r.chart {
			r.findings.add("", errorAt(InvalidYAML, position, "is the file cut off? name it in "+ignoreFile+" if it is no part of the platform model",
				"this is a text and no object"))
		}
		return
	}
	apiVersion, kind := yamlpos.Text(node, "apiVersion"), yamlpos.Text(node, "kind")
	if (apiVersion == "v1" || apiVersion == v1alpha1.APIVersion) && isList(kind) {
		r.items(node, position)
		return
	}
	doc, ok := r.classify(node, apiVersion, kind, position)
	if !ok {
		return
	}
	if field := emptyField(node, kind); field != "" && !r.chart {
		r.findingsFor(kind).addBlank(position, kind+" without "+field)
	}
	doc.decoded = new(any)
	r.documents = append(r.documents, doc)
}

// items takes the objects of a list, as Flux does.
func (r *recognition) items(list *yaml.Node, position Position) {
	items := yamlpos.Value(list, "items")
	if yamlpos.IsNull(items) {
		r.findings.addBlank(position, "List without items")
		return
	}
	if items.Kind != yaml.SequenceNode {
		r.findings.add("", errorAt(InvalidField, positionAt(list, position, []string{"items"}), "", "items must be a list"))
		return
	}
	if r.seen == nil {
		r.seen = map[*yaml.Node]bool{}
	}
	for _, item := range items.Content {
		if item = yamlpos.Resolve(item); r.seen[item] {
			continue
		}
		r.seen[item] = true
		if item.Kind != yaml.MappingNode {
			position.Line, position.Column = item.Line, item.Column
			r.findings.add("", errorAt(InvalidField, position, "is the file cut off?", "an item of a list must be an object"))
			continue
		}
		r.add(item, position)
	}
}

func (r *recognition) findingsFor(kind string) *findings {
	if kind == kindConfigMap {
		return r.configs
	}
	return r.findings
}

// classify says whether a document belongs to the platform model, and reports
// one that almost does.
func (r *recognition) classify(node *yaml.Node, apiVersion, kind string, position Position) (document, bool) {
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "v1" && kind == kindConfigMap && isPlatformConfig(node):
	case group != v1alpha1.Group:
		if !r.chart {
			r.foreign(node, apiVersion, kind, position)
		}
		return document{}, false
	case version != v1alpha1.Version:
		r.findings.add(intendedKind(kind), errorAt(UnknownKind, positionAt(node, position, []string{"apiVersion"}), "write "+v1alpha1.APIVersion,
			"apiVersion %s is not known", apiVersion))
		return document{}, false
	case !isKind(kind):
		meant := cmp.Or(intendedKind(kind), Nearest(kind, v1alpha1.Kinds()), kind)
		r.findings.add(meant, unknownKind(kind, positionAt(node, position, []string{"kind"})))
		return document{}, false
	}
	return document{kind: kind, node: node, position: position}, true
}

// foreign reports a document that is not the platform model's and may be meant
// to be.
func (r *recognition) foreign(node *yaml.Node, apiVersion, kind string, position Position) {
	if m := nearMiss(node, apiVersion, kind); m != nil {
		r.findingsFor(m.kind).add(m.kind, m.diagnostic(node, position))
		return
	}
	if apiVersion == "v1" && kind == kindConfigMap && emptyField(node, kind) != "" {
		r.configs.addBlank(position, "ConfigMap without data")
	}
}

func isKind(kind string) bool { return slices.Contains(v1alpha1.Kinds(), kind) }

// unknownKind is an error unless the kind is one that the original scheduler
// keeps in its cluster as an intermediate result; those are harmless in git.
func unknownKind(kind string, position Position) Diagnostic {
	switch kind {
	case "Assignment", "AssignmentPackage", "DeploymentTarget":
		return warningAt(UnknownKind, position, "remove the document", "kind %s is computed, not read", kind)
	}
	known := v1alpha1.Kinds()
	return errorAt(UnknownKind, position, Suggest(kind, known, "known kinds are "+strings.Join(known, ", ")), "kind %q is not known", kind)
}

// maxMisspelt is how many letters a misspelt name may differ in.
const maxMisspelt = 2

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

// miss is a document that was meant to be one of the platform model's and is not
// written like one.
type miss struct {
	code          string
	kind          string   // that was meant, "" when that cannot be known
	field         []string // that is wrong
	message, hint string
}

func (m *miss) diagnostic(node *yaml.Node, position Position) Diagnostic {
	return errorAt(m.code, positionAt(node, position, m.field), m.hint, "%s", m.message)
}

// nearMiss says which object of the platform model a document of no known group was
// meant to be. It is nil for a document of another group or of a core kind.
func nearMiss(node *yaml.Node, apiVersion, kind string) *miss {
	group, _, grouped := strings.Cut(apiVersion, "/")
	wrongVersion := func(kind, right string) *miss {
		m := &miss{code: UnknownKind, kind: kind, field: []string{"apiVersion"}, message: fmt.Sprintf("apiVersion %q is not known", apiVersion), hint: "write " + right}
		if apiVersion == "" {
			m.code, m.message = MissingField, "apiVersion is missing"
		}
		return m
	}
	switch {
	case strings.HasPrefix(apiVersion, encryptedValue) || strings.HasPrefix(kind, encryptedValue):
		return &miss{code: InvalidYAML, message: "the document is encrypted by sops", hint: "leave at least apiVersion, kind and metadata unencrypted, or name the file in " + ignoreFile}
	case misspelt(group, v1alpha1.Group) || misspelt(apiVersion, v1alpha1.APIVersion):
		return wrongVersion(intendedKind(kind), v1alpha1.APIVersion)
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
		return &miss{code: UnknownKind, kind: kindConfigMap, field: []string{"kind"}, message: fmt.Sprintf("kind %q is not known", kind), hint: "did you mean ConfigMap?"}
	case isList(kind) && apiVersion != "v1" && yamlpos.Has(node, "items"):
		return wrongVersion("", "v1")
	case apiVersion == "v1" && kind != kindList && (strings.EqualFold(kind, kindList) || truncated(kind, kindList) || yamlpos.Has(node, "items") && misspelt(kind, kindList)):
		return &miss{code: UnknownKind, field: []string{"kind"}, message: fmt.Sprintf("kind %q is not known", kind), hint: "did you mean List?"}
	case intendedKind(kind) != "" && (yamlpos.Has(node, "metadata") || yamlpos.Has(node, "spec") || len(node.Content) <= 4):
		return wrongVersion(intendedKind(kind), v1alpha1.APIVersion)
	}
	return nil
}

// withoutKind is about a document without a kind that was meant to have one.
func withoutKind(node *yaml.Node, apiVersion string) *miss {
	object := yamlpos.Has(node, "metadata") && (yamlpos.Has(node, "spec") || yamlpos.Has(node, "data"))
	marked := yamlpos.Text(node, "metadata", "labels", platformConfigLabel) != ""
	alone := yamlpos.Has(node, "apiVersion") && len(node.Content) == 2
	if !object && !marked && !alone && apiVersion != "v1" {
		return nil
	}
	m := &miss{code: MissingField, field: []string{"apiVersion"}, message: "kind is missing", hint: "write the kind of the object; is the file cut off?"}
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

// unmarked is about a ConfigMap without the platform's label that was meant to have
// it.
func unmarked(node *yaml.Node) *miss {
	if yamlpos.Text(node, "metadata", "name") == "" && yamlpos.Text(node, "metadata", "generateName") == "" {
		return &miss{code: MissingField, kind: kindConfigMap, field: []string{"metadata"}, message: "metadata.name is missing", hint: "write the name and the labels; is the file cut off?"}
	}
	hint := "write " + platformConfigLabel + `: "true" among metadata.labels if it is the platform's configuration`
	for _, path := range [][]string{nil, {"metadata"}} {
		for node := range yamlpos.Fields(yamlpos.Value(node, path...)) {
			key := node.Value
			expected := key == "labels" && path != nil
			if misspelt(key, "labels") || strings.HasPrefix(key, "labels") && !expected || strings.Contains(key, platformConfigLabel) || misspelt(key, platformConfigLabel) {
				return &miss{code: UnknownField, kind: kindConfigMap, field: append(path, key), message: "unknown field " + strings.Join(append(path, key), "."), hint: hint}
			}
		}
	}
	labels := yamlpos.Value(node, "metadata", "labels")
	if yamlpos.IsNull(labels) {
		return nil
	}
	if labels.Kind != yaml.MappingNode {
		return &miss{code: InvalidField, kind: kindConfigMap, field: []string{"metadata", "labels"}, message: "metadata.labels must be an object", hint: hint}
	}
	for name, value := range yamlpos.Fields(labels) {
		key, value := name.Value, yamlpos.Resolve(value)
		text := value.Value
		if yamlpos.IsNull(value) {
			text = ""
		}
		switch {
		case key == platformConfigLabel && (value.Kind != yaml.ScalarNode || text == "" || strings.EqualFold(text, "true") || misspelt(text, "true") || truncated(text, "true") || strings.HasPrefix(text, encryptedValue)):
			return &miss{code: UnknownField, kind: kindConfigMap, field: []string{"metadata", "labels", key}, message: fmt.Sprintf("label %s is %q", key, text), hint: hint}
		case misspelt(key, platformConfigLabel):
			return &miss{code: UnknownField, kind: kindConfigMap, field: []string{"metadata", "labels", key}, message: fmt.Sprintf("label %s is not known", key), hint: "did you mean " + platformConfigLabel + "?"}
		}
	}
	return nil
}

// emptyField returns the essential field that a document lacks, "" for none. The
// document looks like one whose file is cut off.
func emptyField(node *yaml.Node, kind string) string {
	switch {
	case kind == kindConfigMap && yamlpos.IsNull(yamlpos.Value(node, "data")) && yamlpos.IsNull(yamlpos.Value(node, "binaryData")):
		return "data"
	case kind == v1alpha1.KindWorkload && yamlpos.IsNull(yamlpos.Value(node, "spec", "deploymentTargets")):
		return "deploymentTargets"
	case (kind == v1alpha1.KindClusterType || kind == v1alpha1.KindWorkload) && hasEmptyLabels(yamlpos.Value(node, "metadata")):
		return "labels"
	}
	targets := yamlpos.Value(node, "spec", "deploymentTargets")
	if kind == v1alpha1.KindWorkload && targets.Kind == yaml.SequenceNode && slices.ContainsFunc(targets.Content, hasEmptyLabels) {
		return "labels"
	}
	return ""
}

// hasEmptyLabels says whether a mapping has the field labels with nothing in it, as
// when its lines are indented too little.
func hasEmptyLabels(node *yaml.Node) bool {
	node = yamlpos.Resolve(node)
	return node != nil && node.Kind == yaml.MappingNode && yamlpos.Has(node, "labels") && yamlpos.IsNull(yamlpos.Value(node, "labels"))
}

// intendedKind returns the kind of the platform model that a kind is, or is most
// likely a misspelling of, "" for none.
func intendedKind(kind string) string {
	for _, known := range append(v1alpha1.Kinds(), kindConfigMap) {
		if likeKind(kind, known) {
			return known
		}
	}
	return ""
}

// likeKind says whether a kind is a known one, misspelt or truncated.
func likeKind(kind, known string) bool {
	return kind == known || misspelt(kind, known) || truncated(kind, known)
}

// isList says whether a kind is that of a list of objects that concern the
// platform model.
func isList(kind string) bool {
	of, ok := strings.CutSuffix(kind, kindList)
	return ok && (of == "" || of == kindConfigMap || isKind(of))
}

// misspelt says whether text is not name, and differs from it in a few letters or
// in upper and lower case.
func misspelt(text, name string) bool {
	if text == name || len(text) < len(name)-maxMisspelt || len(text) > len(name)+maxMisspelt {
		return false
	}
	return distance(strings.ToLower(text), strings.ToLower(name)) <= maxMisspelt
}

// truncated says whether text is name without its end.
func truncated(text, name string) bool {
	return text != "" && len(text) < len(name) && strings.HasPrefix(name, text)
}
