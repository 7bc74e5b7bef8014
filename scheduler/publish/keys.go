package publish

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// keyChange is a key of an assignment's configuration that changes. Nil is no value.
type keyChange struct {
	at       pair
	key      string
	from, to *string
	source   plan.ConfigSource // of the new value; zero where that is not known
}

// keyChanges compares the configuration of assignments that change, sorted; of very many
// only some.
func keyChanges(p *plan.Plan, changed []pair, before, after map[string][]byte) []keyChange {
	is := map[pair]bool{}
	for _, at := range changed {
		is[at] = true
	}
	sources := map[pair]map[string]plan.ConfigSource{}
	for _, a := range p.Assignments {
		if at := (pair{a.ClusterType, a.Target}); is[at] {
			sources[at] = map[string]plan.ConfigSource{}
			for _, v := range a.Config {
				sources[at][v.Key] = v.Source
			}
		}
	}
	var all []keyChange
	parsed := 0
	for _, c := range p.Changes {
		at, ok := pairOf(p.GitOps.Path, c.Path)
		if !ok || !is[at] || !bytes.Contains(c.Content, []byte("ConfigMap")) && !bytes.Contains(before[c.Path], []byte("ConfigMap")) {
			continue
		}
		if parsed++; parsed > maxParsed {
			break
		}
		from, to := dataIn(before[c.Path]), dataIn(after[c.Path])
		keys := maps.Clone(from)
		maps.Copy(keys, to)
		for key := range keys {
			change := keyChange{at: at, key: key, source: sources[at][key]}
			if value, ok := from[key]; ok {
				change.from = &value
			}
			if value, ok := to[key]; ok {
				change.to = &value
			}
			if change.from == nil || change.to == nil || *change.from != *change.to {
				all = append(all, change)
			}
		}
	}
	slices.SortFunc(all, func(a, b keyChange) int { return cmp.Or(comparePairs(a.at, b.at), cmp.Compare(a.key, b.key)) })
	return all
}

// dataIn returns the data of the ConfigMaps in a file.
func dataIn(content []byte) map[string]string {
	data := map[string]string{}
	if !bytes.Contains(content, []byte("ConfigMap")) {
		return data
	}
	documents, _ := yamlpos.Documents(bytes.NewReader(content))
	for _, document := range documents {
		var object struct {
			Kind string         `yaml:"kind"`
			Data map[string]any `yaml:"data"`
		}
		if document.Decode(&object) != nil || object.Kind != "ConfigMap" {
			continue
		}
		for key, value := range object.Data {
			data[key] = fmt.Sprint(value)
		}
	}
	return data
}

// maxValue is how much of a value a text shows, in characters.
const maxValue = 80

// writeKeys writes what becomes of single keys of the configuration.
func (w words) writeKeys(b *strings.Builder, s summary) {
	if len(s.keys) == 0 {
		return
	}
	value := func(v *string) string { return markdown.Code(clip(markdown.Line(*v), maxValue)) }
	b.WriteString("\n### Configuration\n\n")
	writeList(b, maxKeys, "keys", s.keys, func(c keyChange) string {
		line := fmt.Sprintf("- %s on %s: %s ", markdown.Code(c.at.target), markdown.Code(c.at.clusterType), markdown.Code(c.key))
		switch {
		case c.from == nil:
			line += "is new: " + value(c.to)
		case c.to == nil:
			line += "goes, was " + value(c.from)
		default:
			line += "from " + value(c.from) + " to " + value(c.to)
		}
		if c.to != nil && c.source.Position != (model.Position{}) {
			line += fmt.Sprintf(", by ConfigMap %s (%s)", markdown.Code(c.source.ConfigMap), w.position(c.source.Position))
		}
		return line + "\n"
	})
}
