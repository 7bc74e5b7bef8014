package policytest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"go.yaml.in/yaml/v3"
)

// Load reads the tests of a file, which may hold several documents. With any
// diagnostic the file has no tests: half of a file's expectations would look
// like all of them.
func Load(file model.Position, content []byte) ([]Test, []model.Diagnostic) {
	d := &decoder{model.NewDecoder(file)}
	var tests []Test
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	for _, document := range documents {
		if root := document.Content[0]; !yamlpos.IsNull(root) {
			tests = append(tests, d.document(root)...)
		}
	}
	if err != nil {
		line, message := yamlpos.ExplainError(content, err)
		d.errorf(&yaml.Node{Line: line}, "", "not valid YAML: %s", message)
	}
	if len(d.Found()) == 0 && len(tests) == 0 {
		d.errorf(&yaml.Node{Line: 1}, "begin it with tests:", "the file has no tests")
	}
	d.namesOnce(tests)
	if len(d.Found()) > 0 {
		return nil, d.Found()
	}
	return tests, nil
}

// Count says how many tests a file with mistakes means to have: one at least,
// for there is no knowing what stands behind a mistake.
func Count(content []byte) (count int) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document struct {
			Tests []yaml.Node `yaml:"tests"`
		}
		if err := decoder.Decode(&document); err != nil {
			return max(count, 1)
		}
		count += len(document.Tests)
	}
}

func (d *decoder) document(node *yaml.Node) []Test {
	fields := d.known(node, "the file", "tests")
	list := fields["tests"]
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		d.errorf(list, "", "tests must be a list")
		return nil
	}
	var tests []Test
	for i, element := range list.Content {
		tests = append(tests, d.test(yamlpos.Resolve(element), fmt.Sprintf("tests[%d]", i)))
	}
	return tests
}

func (d *decoder) test(node *yaml.Node, what string) Test {
	before := len(d.Found())
	f := d.known(node, what, "name", "environment", "target", "on", "notOn", "onlyOn", "config")
	t := Test{
		Name:        d.text(f["name"], what+".name").Text,
		Position:    d.At(node),
		Environment: d.text(f["environment"], what+".environment"),
		On:          d.names(f["on"], what+".on"),
		NotOn:       d.names(f["notOn"], what+".notOn"),
		OnlyOn:      d.names(f["onlyOn"], what+".onlyOn"),
		Config:      d.config(f["config"], what+".config"),
	}
	if f["onlyOn"] != nil {
		t.OnlyOnAt = d.At(f["onlyOn"])
	}
	if f["target"] != nil {
		d.target(f["target"], &t, what+".target")
	}
	if len(d.Found()) > before {
		return t
	}
	switch {
	case f["name"] == nil:
		d.errorf(node, "", "%s.name is missing", what)
	case f["target"] == nil:
		d.errorf(node, "name a deployment target, or describe one by its labels", "%s.target is missing", what)
	case len(t.On)+len(t.NotOn)+len(t.Config) == 0 && f["onlyOn"] == nil:
		d.errorf(node, "say what is expected: on, notOn, onlyOn or config", "%s expects nothing", what)
	}
	return t
}

// target reads the name of a deployment target, or the description of one.
func (d *decoder) target(node *yaml.Node, t *Test, what string) {
	if node.Kind == yaml.ScalarNode {
		t.Target = d.text(node, what)
		return
	}
	f := d.known(node, what, "labels", "workspace", "workload", "name")
	or := func(name, otherwise string) string {
		if text := d.text(f[name], what+"."+name).Text; text != "" {
			return text
		}
		return otherwise
	}
	t.Hypothetical = HypotheticalTarget{
		Workload:  or("workload", "policy"),
		Name:      or("name", "test"),
		Workspace: or("workspace", ""),
		Labels:    map[string]string{},
	}
	if f["labels"] == nil {
		return
	}
	for _, label := range d.fields(f["labels"], what+".labels") {
		t.Hypothetical.Labels[label.Key.Value] = d.text(label.Value, what+".labels."+label.Key.Value).Text
	}
}

func (d *decoder) config(node *yaml.Node, what string) []Config {
	if node == nil {
		return nil
	}
	var all []Config
	for _, clusterType := range d.fields(node, what) {
		inner := what + "." + clusterType.Key.Value
		for _, f := range d.fields(clusterType.Value, inner) {
			c := Config{ClusterType: clusterType.Key.Value, Key: f.Key.Value, Position: d.At(f.Key)}
			switch {
			case f.Value.Kind != yaml.ScalarNode:
				c.Structured = true
				c.Value = d.yaml(f.Value, inner+"."+c.Key)
			case f.Value.ShortTag() == "!!null":
				c.Absent = true
			default:
				c.Value = f.Value.Value
			}
			all = append(all, c)
		}
	}
	return all
}

// yaml writes a map or a list. It is read first, for what it refers to by
// aliases may lie outside of it.
func (d *decoder) yaml(node *yaml.Node, what string) string {
	var value any
	err := node.Decode(&value)
	if err == nil {
		var text []byte
		if text, err = yaml.Marshal(value); err == nil {
			return string(text)
		}
	}
	d.errorf(node, "", "%s cannot be read: %s", what, err)
	return ""
}

func (d *decoder) namesOnce(tests []Test) {
	first := map[string]model.Position{}
	for _, t := range tests {
		if t.Name == "" {
			continue
		}
		if at, found := first[t.Name]; found {
			node := &yaml.Node{Line: t.Position.Line, Column: t.Position.Column}
			d.errorf(node, "rename one of them", "a test named %q is already in line %d", t.Name, at.Line)
			continue
		}
		first[t.Name] = t.Position
	}
}

// decoder is the model's with what a strict reader needs: a misspelled expectation
// would be one that always holds.
type decoder struct{ *model.Decoder }

func (d *decoder) errorf(node *yaml.Node, hint, format string, args ...any) {
	d.Errorf(model.InvalidField, node, hint, format, args...)
}

// fields returns a mapping's fields, in which no value is an alias.
func (d *decoder) fields(node *yaml.Node, what string) []model.Field {
	all, _ := d.Fields(yamlpos.Resolve(node), what)
	for i := range all {
		all[i].Value = yamlpos.Resolve(all[i].Value)
	}
	return all
}

// known is fields for an object of which all fields are known.
func (d *decoder) known(node *yaml.Node, what string, names ...string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	for _, f := range d.fields(node, what) {
		if slices.Contains(names, f.Key.Value) {
			values[f.Key.Value] = f.Value
			continue
		}
		hint := model.Suggest(f.Key.Value, names, "known fields are "+strings.Join(names, ", "))
		d.errorf(f.Key, hint, "unknown field %s of %s", f.Key.Value, what)
	}
	return values
}

// text reads a string that is not empty. A nil node is an empty one.
func (d *decoder) text(node *yaml.Node, what string) Name {
	switch {
	case node == nil:
		return Name{}
	case node.Kind == yaml.ScalarNode && (node.Value == "" || yamlpos.IsNull(node)):
		d.errorf(node, "", "%s is empty", what)
		return Name{}
	}
	return Name{d.Text(node, what), d.At(node)}
}

// names reads a list of strings. Each may stand once.
func (d *decoder) names(node *yaml.Node, what string) []Name {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		d.errorf(node, fmt.Sprintf("put it in brackets: [%s]", node.Value), "%s must be a list", what)
		return nil
	}
	var names []Name
	for i, element := range node.Content {
		element = yamlpos.Resolve(element)
		name := d.text(element, fmt.Sprintf("%s[%d]", what, i))
		if slices.ContainsFunc(names, func(n Name) bool { return n.Text == name.Text }) {
			d.errorf(element, "", "%s stands twice in %s", name.Text, what)
		} else if name.Text != "" {
			names = append(names, name)
		}
	}
	return names
}
