package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
)

// values are those of all documents, as JSON has them.
func values(content []byte) ([]any, error) {
	nodes, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	all := make([]any, len(nodes))
	for i, node := range nodes {
		if err := node.Decode(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// with is a value with the field at a path changed, which nil removes.
func with(in any, path []string, value any) (any, error) {
	if len(path) == 0 {
		return normal(value)
	}
	switch in := in.(type) {
	case nil:
		below, err := with(nil, path[1:], value)
		return map[string]any{path[0]: below}, err
	case map[string]any:
		if len(path) == 1 && value == nil {
			delete(in, path[0])
			return in, nil
		}
		below, err := with(in[path[0]], path[1:], value)
		in[path[0]] = below
		return in, err
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i > len(in):
			return nil, fmt.Errorf("a list of %d has no element %s", len(in), path[0])
		case len(path) == 1 && value == nil:
			return slices.Delete(in, i, i+1), nil
		case i == len(in):
			in = append(in, nil)
		}
		in[i], err = with(in[i], path[1:], value)
		return in, err
	}
	return nil, fmt.Errorf("%s is in a value that is no mapping", path[0])
}

// normal is a value as the YAML package decodes it.
func normal(value any) (normalized any, err error) {
	text, err := encode(value)
	if err == nil {
		err = yaml.Unmarshal(text, &normalized)
	}
	return normalized, err
}

func nodeOf(value any) (*yaml.Node, error) {
	node, isNode := value.(*yaml.Node)
	if isNode {
		return node, nil
	}
	node = new(yaml.Node)
	err := node.Encode(value)
	return node, err
}

func encode(value any) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	quoteNumbers(node)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// numeric are texts that some YAML reader takes for a number, and this package's does not.
var numeric = regexp.MustCompile(`^[0-9]+e[0-9]+$`)

// quoteNumbers has texts that look like numbers written between quotes, as a commit of digits.
func quoteNumbers(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Style == 0 && node.ShortTag() == "!!str" && numeric.MatchString(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		quoteNumbers(child)
	}
}

// aliasesWithinLimits is an error about documents whose aliases, each written out, are more than
// anybody would write. An alias within what it stands for would have no end.
func aliasesWithinLimits(documents []*yaml.Node) error {
	known := map[*yaml.Node]int{}
	var expanded func(*yaml.Node) int
	expanded = func(n *yaml.Node) int {
		if size, ok := known[n]; ok {
			return size
		}
		known[n] = 2 * maxExpanded // for aliases of it within it
		size := 1
		if n.Kind == yaml.AliasNode {
			size = expanded(n.Alias)
		}
		for _, child := range n.Content {
			size = min(size+expanded(child), 2*maxExpanded) // it must not overflow
		}
		known[n] = size
		return size
	}
	var written func(*yaml.Node) int
	written = func(n *yaml.Node) int {
		size := 1
		for _, child := range n.Content {
			size += written(child)
		}
		return size
	}
	for _, d := range documents {
		if size := expanded(d); size > maxExpanded && size > written(d) {
			return fmt.Errorf("its aliases stand for more than %d values: write out what is meant", maxExpanded)
		}
	}
	return nil
}
