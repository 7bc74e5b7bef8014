package plan

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// maxSkeletons bounds how many skeletons are kept; beyond it all are made
// anew. A fleet's templates need some for each.
const maxSkeletons = 20000

// skeletons are those of all templates, by what they depend on.
type skeletons struct {
	mu    sync.Mutex
	byKey map[string]*skeleton
}

// unusable is known to be none, wanted is asked for the first time. Only what
// is asked for again is worth the making.
var unusable, wanted = &skeleton{}, &skeleton{}

func (s *skeletons) get(key []byte) *skeleton {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byKey[string(key)]
	if found != nil {
		return found
	}
	if s.byKey == nil || len(s.byKey) >= maxSkeletons {
		s.byKey = map[string]*skeleton{}
	}
	s.byKey[string(key)] = wanted
	return nil
}

func (s *skeletons) put(key []byte, made *skeleton) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
}

// file renders a template, in the quickest way that gives what rendering it
// gives.
func (w *worker) file(t *knownTemplate, data *subjectData) ([]byte, []Problem) {
	s := w.find(t, data)
	if s == wanted {
		s = w.make(t, data)
		w.skeletons.put(w.key, s)
	}
	if s != nil && s != unusable {
		if content, ok := s.fill(w.values); ok {
			return content, nil
		}
	}
	text, problems := w.renderer.file(t.Template, data.renderData)
	return []byte(text), problems
}

// find looks for a template's skeleton and fetches the values for its blanks.
// It returns nil when there is none to be had.
func (w *worker) find(t *knownTemplate, data *subjectData) *skeleton {
	if !t.form.known || len(t.form.printed) > maxBlanks || len(data.Namespace) > maxNamespace {
		return nil
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
			return nil
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
	return w.skeletons.get(key)
}

// make makes a template's skeleton for data like this.
func (w *worker) make(t *knownTemplate, data *subjectData) *skeleton {
	var results [2]string
	var manifests []string // of the first
	again := false
	for i, mark := range blankMarks {
		var places []place
		var texts []string
		for n, p := range t.form.printed {
			if plainValue(w.values[n]) {
				places = append(places, p)
				texts = append(texts, blankText(mark, n))
			}
		}
		blank := data.with(places, texts)
		text, problems := assemble(t.Template, func(manifest string) (string, error) {
			out, err := w.renderer.once(manifest, blank)
			if strings.Contains(out, "{{") {
				again = true // with what a value asks for, not the template
			}
			if i == 0 {
				manifests = append(manifests, out)
			}
			return out, err
		})
		if len(problems) > 0 || again {
			return unusable
		}
		results[i] = text
	}
	s, ok := skeletonOf(results)
	if ok && t.Spec.ContentType != v1alpha1.ShellContent {
		ok = s.inspect(manifests)
	}
	if !ok {
		return unusable
	}
	return s
}
