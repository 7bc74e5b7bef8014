package plan

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	namespaces []*skeleton // names of namespaces with blanks, whose length is to be checked
}

// maxBlankValue is how long a value in a blank may be.
const maxBlankValue = 256

// plainValue says whether a text can replace any other such text within a YAML
// scalar and nothing changes but the scalar: no character of it means anything
// to YAML where it stands, in any style of scalar, and its first and last
// characters belong to the scalar whatever surrounds them.
func plainValue(s string) bool {
	if s == "" || len(s) > maxBlankValue {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '/':
		case i == 0 && strings.HasPrefix(s, "./") && len(s) > 2:
		case i == 0 || i == len(s)-1:
			return false
		case c == '-' || c == '.' || c == '_' || c == '@' || c == '+' || c == '=' || c == '~':
		case c == ':' && s[i+1] != ':':
		default:
			return false
		}
	}
	return true
}

// fill puts values into the blanks. It returns false when the result needs a
// check that the skeleton cannot answer for.
func (s *skeleton) fill(values []string) ([]byte, bool) {
	for _, n := range s.namespaces {
		if n.length(values) > validation.DNS1123LabelMaxLength {
			return nil, false
		}
	}
	out := make([]byte, 0, s.length(values))
	for i, blank := range s.blanks {
		out = append(out, s.pieces[i]...)
		out = append(out, values[blank]...)
	}
	return append(out, s.pieces[len(s.blanks)]...), true
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

// The texts that stand for blanks while a skeleton is made: a mark, the blank's
// number, and a letter. Two different marks tell a blank from a text of the
// data that happens to look like one.
var blankMarks = [2]string{"kalypsoBlankA", "kalypsoBlankB"}

// blankText is such a text.
func blankText(mark string, n int) string { return mark + strconv.Itoa(100+n) + "x" }

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

// skeletonOf cuts the two results of rendering with the two marks. It returns
// false when they are not the same text around the same blanks.
func skeletonOf(results [2]string) (*skeleton, bool) {
	s, ok := cut(results[0], blankMarks[0])
	other, ok2 := cut(results[1], blankMarks[1])
	if !ok || !ok2 || !slices.Equal(s.pieces, other.pieces) || !slices.Equal(s.blanks, other.blanks) {
		return nil, false
	}
	if len(results[0])+len(s.blanks)*maxBlankValue > maxOutput {
		return nil, false
	}
	return s, true
}

// inspect makes sure that the manifests are YAML whatever is in their blanks:
// each blank lies in a scalar that is a value, or in a comment. It notes the
// names of namespaces.
func (s *skeleton) inspect(manifests []string) bool {
	for _, piece := range s.pieces[:len(s.blanks)] {
		if strings.HasSuffix(piece, `\`) {
			return false
		}
	}
	found := 0
	for _, text := range manifests {
		n, ok := s.inspectManifest(text)
		if !ok {
			return false
		}
		found += n
	}
	return found == len(s.blanks)
}

// inspectManifest returns how many blanks a manifest has.
func (s *skeleton) inspectManifest(text string) (int, bool) {
	found := 0
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return found, errors.Is(err, io.EOF)
		}
		n, ok := countBlanks(&document)
		var value any
		if !ok || document.Decode(&value) != nil {
			return 0, false
		}
		found += n
		for _, root := range document.Content {
			if !s.inspectObject(root) {
				return 0, false
			}
		}
	}
}

// inspectObject notes the name of a namespace. Whether it is one must be
// certain.
func (s *skeleton) inspectObject(root *yaml.Node) bool {
	kind := scalar(root, "kind")
	if strings.Contains(kind, blankMarks[0]) {
		return false
	}
	name, ok := cut(scalar(root, "metadata", "name"), blankMarks[0])
	if ok && kind == "Namespace" {
		s.namespaces = append(s.namespaces, name)
	}
	return ok
}

// countBlanks counts the blanks in the values and comments of a node. It
// returns false when a blank is anywhere else.
func countBlanks(node *yaml.Node) (int, bool) {
	count := func(text string) int { return strings.Count(text, blankMarks[0]) }
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
		m, ok := countBlanks(child)
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if !ok || isKey && m > count(child.HeadComment)+count(child.LineComment)+count(child.FootComment) {
			return 0, false
		}
		n += m
	}
	return n, true
}

// scalar returns the text of a scalar at a path of mappings, or "".
func scalar(node *yaml.Node, path ...string) string {
	for _, name := range path {
		var value *yaml.Node
		if node.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == name {
					value = node.Content[i+1]
				}
			}
		}
		if value == nil {
			return ""
		}
		node = value
	}
	return node.Value
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
		value, ok := d.Labels[p.key]
		return value, ok
	case fieldManifests:
		value, ok := d.Manifests[p.key]
		return value, ok
	case fieldConfigData:
		value, ok := d.ConfigData[p.key].(string)
		return value, ok
	}
	return "", false
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
