package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// maxSkeletons bounds how many skeletons are kept; beyond it all are made
// anew. A fleet's templates need some for each.
const maxSkeletons = 20000

// skeletons are those of all templates, by what they depend on.
type skeletons struct {
	mu    sync.Mutex
	byKey map[string]*skeleton
}

// unusable is known to be none.
var unusable = &skeleton{}

func (s *skeletons) get(key []byte) *skeleton {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[string(key)]
}

func (s *skeletons) put(key []byte, made *skeleton) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil || len(s.byKey) >= maxSkeletons {
		s.byKey = map[string]*skeleton{}
	}
	s.byKey[string(key)] = made
}

// worker renders the files of assignments, one after the other.
type worker struct {
	renderer  *renderer
	skeletons *skeletons
	key       []byte
	values    []string
}

// subjectData is the data of an assignment, with what identifies its maps.
type subjectData struct {
	renderData
	target        int64 // of Labels and Manifests
	configuration int64 // of ConfigData
	config        []ConfigValue
	source        *target // that says it; nil when nobody knows
}

// explain says in an error where the values that it is about come from.
func (d *subjectData) explain(err error) error {
	var unsafe *structureError
	if errors.As(err, &unsafe) && d.source != nil {
		unsafe.place = d.source.said(unsafe.text)
	}
	return trace(err, d.config)
}

// file renders a template, in the quickest way that gives what rendering it
// gives.
func (w *worker) file(t *knownTemplate, data *subjectData) ([]byte, []Problem) {
	if w.find(t, data) {
		s := w.skeletons.get(w.key)
		if s == nil {
			s = w.make(t, data)
			w.skeletons.put(w.key, s)
		}
		if s != unusable {
			if content, ok := s.fill(w.values); ok {
				return content, nil
			}
		}
	}
	text, problems := w.renderer.explained(t.Template, data.renderData, data.explain)
	return []byte(text), problems
}

// find puts together the key of a template's skeleton and the values for its
// blanks. It returns false when there can be none.
func (w *worker) find(t *knownTemplate, data *subjectData) bool {
	if !t.form.known || len(t.form.printed) > maxBlanks || len(data.Namespace) > maxNamespace {
		return false
	}
	key := binary.LittleEndian.AppendUint64(w.key[:0], uint64(t.id))
	w.values = w.values[:0]
	text := func(s string) {
		key = binary.LittleEndian.AppendUint32(key, uint32(len(s)))
		key = append(key, s...)
	}
	number := func(n int64) { key = binary.LittleEndian.AppendUint64(key, uint64(n)) }
	for _, p := range t.form.printed {
		value, ok := data.lookUp(p)
		switch {
		case ok && plainValue(value):
			key = append(key, 1)
		case ok:
			key = append(key, 2)
			text(value)
		case p.field == fieldConfigData:
			key = append(key, 3)
			number(data.configuration)
		default:
			return false
		}
		w.values = append(w.values, value)
	}
	for field, used := range t.form.used {
		if !used {
			continue
		}
		switch dataField(field) {
		case fieldLabels, fieldManifests:
			number(data.target)
		case fieldConfigData:
			number(data.configuration)
		default:
			value, _ := data.lookUp(place{field: dataField(field)})
			text(value)
		}
	}
	w.key = key
	return true
}

// make makes a template's skeleton for data like this.
func (w *worker) make(t *knownTemplate, data *subjectData) *skeleton {
	var places []place
	var texts []string
	for n, p := range t.form.printed {
		if plainValue(w.values[n]) {
			places = append(places, p)
			texts = append(texts, t.form.blank(n))
		}
	}
	if data.mentions(t.form.mark) {
		return unusable
	}
	blank := data.with(places, texts)
	var manifests []string
	var renditions []rendition
	again := false
	text, problems := assemble(t.Template, func(manifest string) (string, error) {
		made, err := w.renderer.once(manifest, blank)
		if err != nil {
			return "", err
		}
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
	s, ok := cut(text, t.form.mark)
	if ok && t.Spec.ContentType != v1alpha1.ShellContent {
		ok = s.inspect(manifests, renditions, t.form.mark)
	}
	if !ok {
		return unusable
	}
	return s
}
