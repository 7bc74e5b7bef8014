package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// skeleton is the result of rendering a template with blanks in the place of
// values that the template only prints. To fill the blanks is a hundred times
// faster than to render, parse and check again, and gives the same bytes: the
// skeleton has been checked, and only values that cannot change what YAML makes
// of the text around them go into blanks.
type skeleton struct {
	pieces     []string    // the text between the blanks, one more than blanks
	blanks     []int       // which of the form's places each blank is
	namespaces []*skeleton // names of namespaces, which are to be checked
}

// maxBlankValue is how long a value in a blank may be.
const maxBlankValue = 256

// plainValue says whether a text can replace any other such text within a YAML
// scalar, or a word of a shell, and nothing changes but that: no character of it
// means anything to YAML or a shell where it stands, in any style of scalar, and
// its first and last characters belong to the scalar whatever surrounds them.
func plainValue(s string) bool {
	last := len(s) - 1
	if last < 0 || last >= maxBlankValue || inScalar[s[last]] != always {
		return false
	}
	if inScalar[s[0]] != always && (last < 2 || s[:2] != "./") {
		return false
	}
	for i := range last {
		if inScalar[s[i]] == never || s[i] == ':' && s[i+1] == ':' {
			return false
		}
	}
	return true
}

// Where a character may stand in a plain value.
const (
	never  = iota
	inside // not at its ends
	always
)

var inScalar = func() (t [256]byte) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/':
			t[c] = always
		case strings.IndexByte("-._@+=:", byte(c)) >= 0:
			t[c] = inside
		}
	}
	return t
}()

// fill puts values into the blanks. It returns false when the result needs a
// check that the skeleton cannot answer for.
func (s *skeleton) fill(values []string) ([]byte, bool) {
	for _, n := range s.namespaces {
		if !n.isLabel(values) {
			return nil, false
		}
	}
	size := s.length(values)
	if size > maxOutput {
		return nil, false
	}
	out := make([]byte, 0, size)
	for i, blank := range s.blanks {
		out = append(out, s.pieces[i]...)
		out = append(out, values[blank]...)
	}
	return append(out, s.pieces[len(s.blanks)]...), true
}

// isLabel says whether the text with these values is a name for a namespace.
func (s *skeleton) isLabel(values []string) bool {
	n, last := 0, byte('-')
	for i := range s.pieces {
		parts := [2]string{s.pieces[i]}
		if i < len(s.blanks) {
			parts[1] = values[s.blanks[i]]
		}
		for _, part := range parts {
			for j := range len(part) {
				c := part[j]
				alphanumeric := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
				if !alphanumeric && (c != '-' || n == 0) {
					return false
				}
				last = c
				n++
			}
		}
	}
	return last != '-' && n <= validation.DNS1123LabelMaxLength
}

func (s *skeleton) length(values []string) int {
	n := 0
	for _, piece := range s.pieces {
		n += len(piece)
	}
	for _, blank := range s.blanks {
		n += len(values[blank])
	}
	return n
}

// A blank is a text of its own while a skeleton is made: a mark that nothing
// else can hold by chance, for it is made from a digest of the template; the
// blank's number; and a letter.

// markOf returns the mark for a template's blanks.
func markOf(spec v1alpha1.TemplateSpec) string {
	h := sha256.New()
	for _, m := range spec.Manifests {
		io.WriteString(h, m.Text)
	}
	return "kalypsoBlank" + hex.EncodeToString(h.Sum(nil)[:8])
}

func (f *form) blank(n int) string { return f.mark + strconv.Itoa(100+n) + "x" }

// maxBlanks is how many blanks a template may have.
const maxBlanks = 900

// cut divides a text at its blanks.
func cut(text, mark string) (*skeleton, bool) {
	s := &skeleton{}
	for {
		before, after, found := strings.Cut(text, mark)
		s.pieces = append(s.pieces, before)
		if !found {
			return s, true
		}
		if len(after) < 4 || after[3] != 'x' {
			return nil, false
		}
		n, err := strconv.Atoi(after[:3])
		if err != nil || n < 100 {
			return nil, false
		}
		s.blanks = append(s.blanks, n-100)
		text = after[4:]
	}
}

// inspect makes sure that the manifests are YAML whatever is in their blanks:
// each blank lies in a scalar that is a value, or in a comment. It notes the
// names of namespaces.
func (s *skeleton) inspect(manifests []string, renditions []rendition, mark string) bool {
	for _, piece := range s.pieces[:len(s.blanks)] {
		if strings.HasSuffix(piece, `\`) {
			return false
		}
	}
	found := 0
	for i, text := range manifests {
		n, ok := s.inspectManifest(text, renditions[i], mark)
		if !ok {
			return false
		}
		found += n
	}
	return found == len(s.blanks)
}

// inspectManifest returns how many blanks a manifest has.
func (s *skeleton) inspectManifest(text string, made rendition, mark string) (int, bool) {
	documents, _, err := parseYAML(text)
	// A blank is a word already: how it stands in its document is checked below.
	if err != nil || !made.isBlank(mark) && made.checkStructure(documents) != nil {
		return 0, false
	}
	found := 0
	for _, document := range documents {
		n, ok := countBlanks(document, mark)
		if !ok {
			return 0, false
		}
		found += n
		for _, root := range document.Content {
			if !s.inspectObject(root, mark) {
				return 0, false
			}
		}
	}
	return found, true
}

// inspectObject notes the name of a namespace. Whether it is one must be
// certain.
func (s *skeleton) inspectObject(root *yaml.Node, mark string) bool {
	if !identified(root, mark) {
		return false
	}
	kind := yamlpos.Text(root, "kind")
	name, ok := cut(yamlpos.Text(root, "metadata", "name"), mark)
	if ok && kind == "Namespace" {
		s.namespaces = append(s.namespaces, name)
	}
	return ok
}

// identified says whether no blank is in what Kubernetes tells the kind of an
// object by, as [sameIdentity] does of two results.
func identified(node *yaml.Node, mark string) bool {
	if node.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, node.Content[i+1]
		if tellsKind(name) && strings.Contains(value.Value, mark) {
			return false
		}
		if name == "items" && slices.ContainsFunc(value.Content, func(item *yaml.Node) bool { return !identified(item, mark) }) {
			return false
		}
	}
	return true
}

// countBlanks counts the blanks in the values and comments of a node. It
// returns false when a blank is anywhere else.
func countBlanks(node *yaml.Node, mark string) (int, bool) {
	count := func(text string) int { return strings.Count(text, mark) }
	n := count(node.HeadComment) + count(node.LineComment) + count(node.FootComment)
	switch {
	case node.Kind == yaml.AliasNode, count(node.Anchor) > 0, count(node.Tag) > 0:
		return 0, false
	case node.Kind == yaml.ScalarNode:
		blanks := count(node.Value)
		if blanks > 0 && node.Style&yaml.TaggedStyle != 0 {
			return 0, false
		}
		return n + blanks, true
	}
	for i, child := range node.Content {
		m, ok := countBlanks(child, mark)
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if !ok || isKey && m > count(child.HeadComment)+count(child.LineComment)+count(child.FootComment) {
			return 0, false
		}
		n += m
	}
	return n, true
}

// lookUp returns a value that a template prints, and false when it is not
// there or no text.
func (d *renderData) lookUp(p place) (string, bool) {
	switch p.field {
	case fieldTargetName:
		return d.DeploymentTargetName, true
	case fieldNamespace:
		return d.Namespace, true
	case fieldEnvironment:
		return d.Environment, true
	case fieldWorkspace:
		return d.Workspace, true
	case fieldWorkload:
		return d.Workload, true
	case fieldClusterType:
		return d.ClusterType, true
	case fieldLabels:
		return d.Labels[p.key], true
	case fieldManifests:
		return d.Manifests[p.key], true
	case fieldConfigData:
		value, ok := d.ConfigData[p.key].(string)
		return value, ok
	}
	return "", false
}

// mentions says whether any text of the data holds another.
func (d *renderData) mentions(text string) bool {
	for _, s := range []string{d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.ClusterType} {
		if strings.Contains(s, text) {
			return true
		}
	}
	for _, m := range []map[string]string{d.Labels, d.Manifests} {
		for key, value := range m {
			if strings.Contains(key, text) || strings.Contains(value, text) {
				return true
			}
		}
	}
	return valueMentions(d.ConfigData, text)
}

func valueMentions(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case map[string]any:
		for key, element := range v {
			if strings.Contains(key, text) || valueMentions(element, text) {
				return true
			}
		}
	case map[any]any:
		for key, element := range v {
			if valueMentions(key, text) || valueMentions(element, text) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if valueMentions(element, text) {
				return true
			}
		}
	}
	return false
}

// with returns the data with other texts in some places.
func (d renderData) with(places []place, texts []string) renderData {
	d.Labels, d.Manifests, d.ConfigData = maps.Clone(d.Labels), maps.Clone(d.Manifests), maps.Clone(d.ConfigData)
	for i, p := range places {
		switch text := texts[i]; p.field {
		case fieldTargetName:
			d.DeploymentTargetName = text
		case fieldNamespace:
			d.Namespace = text
		case fieldEnvironment:
			d.Environment = text
		case fieldWorkspace:
			d.Workspace = text
		case fieldWorkload:
			d.Workload = text
		case fieldClusterType:
			d.ClusterType = text
		case fieldLabels:
			d.Labels[p.key] = text
		case fieldManifests:
			d.Manifests[p.key] = text
		case fieldConfigData:
			d.ConfigData[p.key] = text
		}
	}
	return d
}
