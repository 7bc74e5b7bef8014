package plan

import (
	"encoding/binary"
	"errors"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"strings"
	"sync"
)

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
