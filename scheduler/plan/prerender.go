package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// prerendered is the result of rendering a template with placeholders for the
// values that it only prints. Filling them is a hundred times faster than to
// render, parse and check again, and gives the same bytes: the checks were made
// once, and only values that cannot change what YAML makes of the text around
// them are filled in.
type prerendered struct {
	pieces       []string       // the text between the placeholders, one more than placeholders
	placeholders []int          // for each, the index in fieldUsage.printed
	namespaces   []*prerendered // names of namespaces, whose validity depends on the values
	spent        int            // of the budget of steps
}

// maxPlaceholderValue bounds a value for a placeholder, in bytes.
const maxPlaceholderValue = 256

// plainValue says whether a text can replace any other such text within a YAML
// scalar of any style, or within a word of a shell, without changing more than that.
func plainValue(s string) bool {
	last := len(s) - 1
	if last < 0 || last >= maxPlaceholderValue || inScalar[s[last]] != always {
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

// fill puts values into the placeholders. It returns false when the result would
// fail a check.
func (s *prerendered) fill(values []string) ([]byte, bool) {
	for _, n := range s.namespaces {
		if !n.isLabel(values) {
			return nil, false
		}
	}
	size := 0
	for _, piece := range s.pieces {
		size += len(piece)
	}
	for _, n := range s.placeholders {
		size += len(values[n])
	}
	if size > maxOutput {
		return nil, false
	}
	out := make([]byte, 0, size)
	for i, n := range s.placeholders {
		out = append(out, s.pieces[i]...)
		out = append(out, values[n]...)
	}
	return append(out, s.pieces[len(s.placeholders)]...), true
}

// isLabel says whether the text with these values is a name for a namespace.
func (s *prerendered) isLabel(values []string) bool {
	name := make([]byte, 0, validation.DNS1123LabelMaxLength)
	for i, piece := range s.pieces {
		name = append(name, piece...)
		if i < len(s.placeholders) {
			name = append(name, values[s.placeholders[i]]...)
		}
	}
	for i, c := range name { // an expression would keep name on the heap
		alphanumeric := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !alphanumeric && (c != '-' || i == 0 || i == len(name)-1) {
			return false
		}
	}
	return len(name) > 0 && len(name) <= validation.DNS1123LabelMaxLength
}

// placeholderPrefix begins a template's placeholders. It holds a digest of the
// template, so that no other text holds it by chance.
func placeholderPrefix(spec v1alpha1.TemplateSpec) string {
	h := sha256.New()
	for _, m := range spec.Manifests {
		io.WriteString(h, m.Text)
	}
	return "kalypsoPlaceholder" + hex.EncodeToString(h.Sum(nil)[:8])
}

func (f *fieldUsage) placeholder(n int) string { return f.prefix + strconv.Itoa(100+n) + "x" }

const maxPlaceholders = 900 // of a template; each has three digits

// cut divides a text at its placeholders.
func cut(text, prefix string) (*prerendered, bool) {
	s := &prerendered{}
	for {
		before, after, found := strings.Cut(text, prefix)
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
		s.placeholders = append(s.placeholders, n-100)
		text = after[4:]
	}
}

// endsLikeHeader finds texts that a plus sign can make look like a header which
// [keepsEnd] finds.
var endsLikeHeader = regexp.MustCompile(`[|>][1-9]?$`)

// inspect makes sure that the manifests are YAML whatever the placeholders stand
// for: each lies in a scalar that is a value, or in a comment.
func (s *prerendered) inspect(manifests []string, renditions []rendition, prefix string) bool {
	for _, piece := range s.pieces[:len(s.placeholders)] {
		if strings.HasSuffix(piece, `\`) || endsLikeHeader.MatchString(piece) {
			return false
		}
	}
	found := 0
	for i, text := range manifests {
		documents, _, err := parseYAML(text)
		if err != nil || !renditions[i].isPlaceholder(prefix) && renditions[i].checkStructure(documents) != nil {
			return false
		}
		for _, document := range documents {
			root := document.Content[0]
			n, ok := countPlaceholders(document, prefix)
			if !ok || !identified(root, prefix) {
				return false
			}
			found += n
			name, ok := cut(yamlpos.Text(root, "metadata", "name"), prefix)
			if !ok {
				return false
			}
			if yamlpos.Text(root, "kind") == "Namespace" {
				s.namespaces = append(s.namespaces, name)
			}
		}
	}
	return found == len(s.placeholders)
}

// identified says whether no placeholder is in what names the kind of an object,
// see [sameIdentity].
func identified(node *yaml.Node, prefix string) bool {
	for key, value := range yamlpos.Fields(node) {
		if identifiesKind(key.Value) && strings.Contains(value.Value, prefix) ||
			key.Value == "items" && slices.ContainsFunc(value.Content, func(item *yaml.Node) bool { return !identified(item, prefix) }) {
			return false
		}
	}
	return true
}

// countPlaceholders counts the placeholders in the values and comments of a node,
// and returns false when there is one anywhere else.
func countPlaceholders(node *yaml.Node, prefix string) (int, bool) {
	count := func(text string) int { return strings.Count(text, prefix) }
	n := count(node.HeadComment) + count(node.LineComment) + count(node.FootComment)
	switch {
	case node.Kind == yaml.AliasNode, count(node.Anchor) > 0, count(node.Tag) > 0:
		return 0, false
	case node.Kind == yaml.ScalarNode:
		placeholders := count(node.Value)
		if placeholders > 0 && node.Style&yaml.TaggedStyle != 0 {
			return 0, false
		}
		return n + placeholders, true
	}
	for i, child := range node.Content {
		m, ok := countPlaceholders(child, prefix)
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if !ok || isKey && m > count(child.HeadComment)+count(child.LineComment)+count(child.FootComment) {
			return 0, false
		}
		n += m
	}
	return n, true
}

// maxPrerendered bounds the cache, which is emptied beyond it.
const maxPrerendered = 20000

// prerenderCache holds what has been prerendered, by all that it depends on.
type prerenderCache struct {
	mu    sync.Mutex
	byKey map[string]*prerendered
}

// unusable stands for templates and data that cannot be prerendered.
var unusable = &prerendered{}

func (s *prerenderCache) get(key []byte) *prerendered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[string(key)]
}

func (s *prerenderCache) put(key []byte, made *prerendered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil || len(s.byKey) >= maxPrerendered {
		s.byKey = map[string]*prerendered{}
	}
	s.byKey[string(key)] = made
}

// worker renders the files of assignments, one after the other.
type worker struct {
	renderer *renderer
	cache    *prerenderCache
	data     assignmentData // that is rendered
	key      []byte
	values   []string

	derived evaluators
	filled  []bool     // for each value, whether it is filled in
	literal []fieldRef // what is not, because something derived from it is not
	pattern []byte     // what became of each derivation
	spent   int        // of the budget of steps, by all derivations
}

// assignmentData is the data of an assignment, with identifiers of its maps.
type assignmentData struct {
	renderData
	target        int64 // of Labels and Manifests
	configuration int64 // of ConfigData
	config        []ConfigValue
	source        *target // nil when it is not known
	box           any     // see [assignmentData.boxed]
}

// explain adds to an error where the values that it is about come from.
func (d *assignmentData) explain(err error) error {
	if unsafe, ok := errors.AsType[*structureError](err); ok && d.source != nil {
		unsafe.position = d.source.positionOf(unsafe.text)
	}
	return trace(err, d.config)
}

// file renders a template, from what is prerendered where that gives the same.
func (w *worker) file(t *knownTemplate, data *assignmentData) ([]byte, []Problem) {
	if w.find(t, data) {
		s := w.cache.get(w.key)
		if s == nil {
			s = w.make(t, data)
			w.cache.put(w.key, s)
		}
		if s != unusable && w.affords(s) {
			content, ok := s.fill(w.values)
			if ok && (len(data.Namespace) <= maxNamespace || !bytes.Contains(content, []byte(data.Namespace))) {
				return content, nil
			}
		}
	}
	text, problems := w.renderer.file(t.Template, data.renderData, data.explain)
	return []byte(text), problems
}

// affords says whether a rendering would be far from using up its budget, although
// what is derived may be in a loop there.
func (w *worker) affords(s *prerendered) bool {
	return w.spent == 0 || s.spent+w.spent*(1+s.spent/stepSize) <= maxSteps/2
}

// find puts together a template's key in the cache and the values for its
// placeholders. It returns false when it cannot be prerendered, or only for this
// assignment alone.
func (w *worker) find(t *knownTemplate, data *assignmentData) bool {
	u := &t.usage
	if !u.known || u.slots > maxPlaceholders || u.isUnique() {
		return false
	}
	w.key = binary.LittleEndian.AppendUint64(w.key[:0], uint64(t.id))
	w.values, w.filled = slices.Grow(w.values[:0], u.slots)[:u.slots], slices.Grow(w.filled[:0], u.slots)[:u.slots]
	clear(w.values)
	clear(w.filled)
	w.literal, w.pattern, w.spent = w.literal[:0], w.pattern[:0], 0
	if len(u.derived) > 0 && !w.derive(t, u.derived, data) {
		return false
	}
	key := w.key
	text := func(s string) {
		key = binary.LittleEndian.AppendUint32(key, uint32(len(s)))
		key = append(key, s...)
	}
	number := func(n int64) { key = binary.LittleEndian.AppendUint64(key, uint64(n)) }
	for n, p := range u.printed {
		value, ok := data.lookUp(p)
		switch {
		case ok && plainValue(value) && !w.isLiteral(p):
			key = append(key, 1)
			w.filled[n] = true
		case ok:
			key = append(key, 2)
			text(value)
		case p.field == fieldConfigData:
			key = append(key, 3)
			number(data.configuration)
		default:
			return false
		}
		w.values[n] = value
	}
	for field, used := range u.used {
		if !used {
			continue
		}
		switch dataField(field) {
		case fieldLabels, fieldManifests:
			number(data.target)
		case fieldConfigData:
			number(data.configuration)
		default:
			value, _ := data.lookUp(fieldRef{field: dataField(field)})
			text(value)
		}
	}
	w.key = key
	return true
}

// make prerenders a template for data like this.
func (w *worker) make(t *knownTemplate, data *assignmentData) *prerendered {
	var refs []fieldRef
	var texts []string
	for n, p := range t.usage.printed {
		if w.filled[n] {
			refs = append(refs, p)
			texts = append(texts, t.usage.placeholder(n))
		}
	}
	if data.mentions(t.usage.prefix) {
		return unusable
	}
	placeholders := data.with(refs, texts)
	var manifests []string
	var renditions []rendition
	again, spent, n := false, 0, 0
	text, problems := assemble(t.Template, func(manifest string) (string, error) {
		parsed := w.renderer.parse(manifest)
		if len(t.usage.derived) > 0 {
			parsed = w.variant(t, n, manifest)
		}
		n++
		made, err := parsed.once(placeholders)
		if err != nil {
			return "", err
		}
		spent += maxSteps - int(*parsed.steps)
		again = again || strings.Contains(made.marked, "{{") // what a value asks for, not the template
		out, err := made.text()
		if err == nil && t.Spec.ContentType == v1alpha1.ShellContent {
			err = made.checkShell()
		}
		renditions = append(renditions, made)
		manifests = append(manifests, out)
		return out, err
	})
	if len(problems) > 0 || again {
		return unusable
	}
	kept := 0
	for _, made := range renditions {
		for _, p := range made.printed {
			kept += len(p.text) + len(p.worded)
		}
	}
	s, ok := cut(text, t.usage.prefix)
	if ok && t.Spec.ContentType != v1alpha1.ShellContent {
		ok = s.inspect(manifests, renditions, t.usage.prefix)
	}
	if !ok || len(t.usage.derived) > 0 && kept+len(s.placeholders)*maxDerivedSize > 4*maxOutput {
		return unusable
	}
	s.spent = spent
	return s
}
