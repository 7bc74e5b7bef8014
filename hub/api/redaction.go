package api

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// redacted stands for a value that nobody is shown.
const redacted = "REDACTED"

// defaultRedact are the patterns of keys whose values nobody is shown, when none are given.
func defaultRedact() []string {
	return []string{"*PASSWORD*", "*SECRET*", "*TOKEN*", "*KEY*", "*CONNECTION*"}
}

// redaction hides values of platform configuration by their keys.
type redaction struct{ keys *regexp.Regexp } // nil hides nothing

func newRedaction(patterns []string) redaction {
	var all []string
	for _, p := range patterns {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*"))
	}
	if len(all) == 0 {
		return redaction{}
	}
	return redaction{regexp.MustCompile(`(?is)^(?:` + strings.Join(all, "|") + `)$`)}
}

func (r redaction) hides(key string) bool { return r.keys != nil && r.keys.MatchString(key) }

// value is the value of a key: hidden, or where it is YAML or JSON without the values of keys in
// it that are.
func (r redaction) value(key, value string) string {
	if r.hides(key) {
		return redacted
	}
	if r.keys == nil || !strings.Contains(value, ":") {
		return value
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(value), &document) != nil || !r.inside(&document) {
		return value
	}
	hidden, err := yaml.Marshal(&document)
	if err != nil {
		return redacted // it has something to hide, and cannot be written without it
	}
	return string(hidden)
}

// inside hides values in a YAML node, and is whether there were any. Lists of variables have
// the key as name, and what it stands for as value.
func (r redaction) inside(n *yaml.Node) (found bool) {
	if n.Kind == yaml.MappingNode {
		named := false
		for i := 0; i < len(n.Content); i += 2 {
			named = named || n.Content[i].Value == "name" && r.hides(n.Content[i+1].Value)
		}
		for i := 0; i < len(n.Content); i += 2 {
			if r.hides(n.Content[i].Value) || named && n.Content[i].Value == "value" {
				n.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: redacted}
				found = true
			}
		}
	}
	for _, child := range n.Content {
		found = r.inside(child) || found
	}
	return found
}

// object is a document of package view without hidden values. The document is not changed.
func (r redaction) object(document any) any {
	switch d := document.(type) {
	case view.ObjectDocument:
		if config, ok := d.Spec.(model.ConfigMap); ok {
			data := map[string]string{}
			for key, value := range config.Data {
				data[key] = r.value(key, value)
			}
			d.Spec = model.ConfigMap{Data: data}
		}
		return d
	case view.AssignmentDocument:
		d.Config = slices.Clone(d.Config)
		for i, c := range d.Config {
			c.Value = r.value(c.Key, c.Value)
			c.Sources = slices.Clone(c.Sources)
			for j := range c.Sources {
				c.Sources[j].Value = r.value(c.Key, c.Sources[j].Value)
			}
			d.Config[i] = plan.ConfigValue{Key: c.Key, Value: c.Value, Sources: c.Sources}
		}
		return d
	}
	return document
}

// explanation is an explanation without hidden values. What it was made of is not changed.
// Findings may cite values, so those that do are cut, too.
func (r redaction) explanation(e *explain.Explanation) *explain.Explanation {
	if e.Pair == nil {
		return e
	}
	changed, pair := *e, *e.Pair
	var hidden []string
	pair.Config = slices.Clone(pair.Config)
	for i, c := range pair.Config {
		c.Sources, c.Parts = slices.Clone(c.Sources), slices.Clone(c.Parts)
		for j, s := range c.Sources {
			c.Sources[j].Value = r.value(c.Key, s.Value)
		}
		for j, p := range c.Parts {
			last := p.Path[strings.LastIndex(p.Path, ".")+1:]
			if c.Parts[j].Value = r.value(c.Key, p.Value); r.hides(last) {
				c.Parts[j].Value = redacted
			}
		}
		if r.hides(c.Key) && c.Value != "" {
			hidden = append(hidden, c.Value)
		}
		c.Value = r.value(c.Key, c.Value)
		pair.Config[i] = c
	}
	// a value that is a part of another goes after it
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var replaced []string
	for _, value := range hidden {
		replaced = append(replaced, value, redacted)
	}
	cut := strings.NewReplacer(replaced...).Replace
	pair.Schemas = slices.Clone(pair.Schemas)
	for i, s := range pair.Schemas {
		s.Findings = slices.Clone(s.Findings)
		for j := range s.Findings {
			s.Findings[j] = cut(s.Findings[j])
		}
		pair.Schemas[i] = s
	}
	pair.Problems, changed.Problems = cutProblems(pair.Problems, cut), cutProblems(e.Problems, cut)
	changed.Pair = &pair
	return &changed
}

func cutProblems(all []explain.Problem, cut func(string) string) []explain.Problem {
	all = append([]explain.Problem{}, all...)
	for i := range all {
		all[i].Message, all[i].Hint = cut(all[i].Message), cut(all[i].Hint)
	}
	return all
}

// textLimit is how much of a text that a cluster has written is passed on, in bytes.
const textLimit = 4 << 10

// text is a text that a cluster, or somebody in git, has written, as it can be shown: without
// control characters, which move a terminal's cursor or turn the order of letters, and cut.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= textLimit {
		return s
	}
	end := textLimit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// textsOf is a value of decoded JSON with all of its strings as text has them.
func textsOf(value any) any {
	switch v := value.(type) {
	case string:
		return text(v)
	case []any:
		for i := range v {
			v[i] = textsOf(v[i])
		}
	case map[string]any:
		for key, one := range v {
			v[key] = textsOf(one)
		}
	}
	return value
}
