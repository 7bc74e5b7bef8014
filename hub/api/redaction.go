package api

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
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
	// a value that is broken further down is hidden as far as it can be read
	documents, _ := yamlpos.Documents(strings.NewReader(value))
	found := false
	for _, d := range documents {
		found = r.inside(d) || found
	}
	if !found {
		return value
	}
	var hidden strings.Builder
	out := yaml.NewEncoder(&hidden)
	for _, d := range documents {
		if out.Encode(d) != nil {
			return redacted // it has something to hide, and cannot be written without it
		}
	}
	if out.Close() != nil {
		return redacted
	}
	return hidden.String()
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

// shortest is how long a hidden value is at least that is looked for in texts: 1 or true is
// everywhere.
const shortest = 4

// hiding is what takes the hidden values of platform configurations out of texts: values that
// stand behind their keys, and elsewhere those that are not too short to be told from others.
func (r redaction) hiding(configs []model.PlatformConfig) func(string) string {
	if r.keys == nil {
		return func(s string) string { return s }
	}
	keys, values := map[string]bool{}, map[string]bool{}
	for _, c := range configs {
		for key, value := range c.Spec.Data {
			if r.hides(key) {
				keys[key], values[value] = true, true
			} else if shown := r.value(key, value); shown != value {
				r.hiddenIn(value, values)
			}
		}
	}
	var all []string
	for value := range values {
		for line := range strings.Lines(value) { // in a file each has its own indentation
			if line = strings.TrimSpace(line); len(line) >= shortest {
				all = append(all, line)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var replaced []string
	for _, value := range all {
		replaced = append(replaced, value, redacted)
	}
	cut := strings.NewReplacer(replaced...)
	return func(s string) string { return cut.Replace(linesWithout(s, keys)) }
}

// hiddenIn adds the hidden values in a value that is YAML.
func (r redaction) hiddenIn(text string, to map[string]bool) {
	documents, _ := yamlpos.Documents(strings.NewReader(text))
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode {
			named := false
			for i := 0; i < len(n.Content); i += 2 {
				named = named || n.Content[i].Value == "name" && r.hides(n.Content[i+1].Value)
			}
			for i := 0; i < len(n.Content); i += 2 {
				if value := n.Content[i+1]; (r.hides(n.Content[i].Value) || named && n.Content[i].Value == "value") && value.Kind == yaml.ScalarNode {
					to[value.Value] = true
				}
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	for _, d := range documents {
		visit(d)
	}
}

// keyLine is a line of YAML, or of a difference of two, that gives a key a value.
var keyLine = regexp.MustCompile(`(?m)^([+\- ]?[ ]*(?:- )?["']?([\w.-]+)["']?[ ]*:[ ]+)([^\s|>&{\[#].*)$`)

// linesWithout hides the values of a text's lines that stand behind some keys.
func linesWithout(s string, keys map[string]bool) string {
	return keyLine.ReplaceAllStringFunc(s, func(line string) string {
		if m := keyLine.FindStringSubmatch(line); keys[m[2]] {
			return m[1] + redacted
		}
		return line
	})
}

// plan hides values in a plan.
func (r redaction) plan(made *propose.Made) {
	p := &made.Plan
	hide := r.hiding(made.Configurations())
	for _, files := range [][]propose.FileChange{p.Source.Files, p.Files} {
		for i := range files {
			files[i].Diff = hide(files[i].Diff)
		}
	}
	p.Configuration = slices.Clone(p.Configuration)
	for i, c := range p.Configuration {
		for _, value := range []**string{&c.Before, &c.After} {
			if *value != nil {
				shown := r.value(c.Key, **value)
				*value = &shown
			}
		}
		p.Configuration[i] = c
	}
	for i := range p.Findings {
		p.Findings[i].Message, p.Findings[i].Hint = hide(p.Findings[i].Message), hide(p.Findings[i].Hint)
	}
	for i := range p.PolicyTests.Failed {
		p.PolicyTests.Failed[i].Message, p.PolicyTests.Failed[i].Hint = hide(p.PolicyTests.Failed[i].Message), hide(p.PolicyTests.Failed[i].Hint)
	}
}

// entity hides values in a ConfigMap.
func (r redaction) entity(e *propose.Entity) {
	data, ok := e.Object["data"].(map[string]any)
	if !ok {
		return
	}
	texts := map[string]string{}
	shown := map[string]any{}
	for key, value := range data {
		if s, ok := value.(string); ok {
			texts[key], value = s, r.value(key, s)
		}
		shown[key] = value
	}
	e.Object = maps.Clone(e.Object)
	e.Object["data"] = shown
	e.YAML = r.hiding([]model.PlatformConfig{{Spec: model.ConfigMap{Data: texts}}})(e.YAML)
}
