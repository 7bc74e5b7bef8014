package plan

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// maxRounds bounds how often a result that holds template actions is rendered
// again. Configuration values may hold actions, and those may name other
// values.
const maxRounds = 10

// renderData is what templates see. The names are those of the original
// scheduler.
type renderData struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ConfigData           map[string]any
}

// renderError says where in a template's text rendering failed.
type renderError struct {
	line    int // from 1; 0 when unknown
	message string
	hint    string
	at      string         // the part of the template, where text/template tells it
	key     string         // of the configuration value that failed, "" when it was the template
	place   model.Position // of that value, when it is known
}

func (e *renderError) Error() string {
	if e.line > 0 {
		return fmt.Sprintf("line %d: %s", e.line, e.message)
	}
	return e.message
}

// renderer renders templates. It keeps what it has parsed, because one template
// renders all assignments of a cluster type.
type renderer struct {
	parsed map[string]*parsed
}

// parsed is a template that is ready to be executed, by one goroutine at a
// time.
type parsed struct {
	*template.Template
	steps *budget
	texts *texts
	err   error // then it is none
}

func newRenderer() *renderer {
	return &renderer{parsed: map[string]*parsed{}}
}

// render renders a template's text, again and again while the result still
// changes and holds an action.
func (r *renderer) render(text string, data renderData) (string, error) {
	made, err := r.rounds(text, data, maxRounds)
	if err != nil {
		return "", err
	}
	return made.text()
}

// rounds renders a template's text, and what comes out again while it still
// changes and holds an action. Only what the platform says is read again.
func (r *renderer) rounds(text string, data renderData, most int) (rendition, error) {
	t := r.parse(text)
	texts := t.texts
	texts.reset()
	for round := range most {
		if round > 0 {
			t = parseTemplate(text, texts, false)
		}
		out, err := execute(t, data)
		if err != nil {
			if round > 0 {
				err = nestedError(err, round, text, data)
			}
			return rendition{}, err
		}
		if most == 1 || !strings.Contains(out, "{{") {
			return rendition{out, texts.printed}, nil
		}
		if out == text {
			return rendition{}, &renderError{
				message: "the result holds a template action that gives itself",
				hint:    "look for a configuration value that names itself",
			}
		}
		text = out
	}
	return rendition{}, &renderError{
		message: fmt.Sprintf("the result still holds template actions after %d rounds", maxRounds),
		hint:    "look for configuration values that name each other",
	}
}

// once renders a template's text once.
func (r *renderer) once(text string, data renderData) (rendition, error) {
	return r.rounds(text, data, 1)
}

// parse parses a template, or remembers it.
func (r *renderer) parse(text string) *parsed {
	if r.parsed[text] == nil {
		r.parsed[text] = parseTemplate(text, new(texts), true)
	}
	return r.parsed[text]
}

// parseTemplate parses a template and makes it strict. Without a place for the
// texts that a workload has a say in, they stay in its results, and so do marks
// that say which line of the template each part of a result comes from.
func parseTemplate(text string, aside *texts, first bool) *parsed {
	p := &parsed{steps: new(budget), texts: aside}
	if p.err = checkSize(text); p.err != nil {
		return p
	}
	t, err := template.New(templateName).
		Funcs(functions).
		Funcs(template.FuncMap{stepName: p.steps.step, textName: aside.text, wordName: aside.word}).
		Parse(text)
	if err != nil {
		p.err = templateError(err)
		return p
	}
	if aside != nil {
		setAside(t, text, first)
	}
	tighten(t, text)
	if aside == nil {
		mark(t, text)
	}
	p.Template = t
	return p
}

// execute renders a template once.
func execute(t *parsed, data renderData) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	*t.steps = maxSteps
	out := &limitedBuffer{limit: maxOutput}
	if err := t.Execute(out, data.copy()); err != nil {
		return "", explainFields(templateError(err), data)
	}
	return out.String(), nil
}

// copy keeps one rendering from changing the next one's data: sprig has
// functions that change maps.
func (d renderData) copy() renderData {
	d.ConfigData, _ = clone(d.ConfigData).(map[string]any)
	return d
}

// templateName is the name of every template while it is rendered, chosen so
// that it can be told from the rest of an error's text.
const templateName = "manifest"

var (
	templateErrorPlace = regexp.MustCompile(`^template: ` + templateName + `:(\d+)(?::\d+)?: `)
	templateErrorNoise = regexp.MustCompile(`^executing "(?:[^"\\]|\\.)*" at <(.*?)>: `)
	unclosedPlace      = regexp.MustCompile(` started at ` + templateName + `:(\d+)$`)
	guardNoise         = regexp.MustCompile(`(?:` + guardName + `|` + quotedName + `) "\d+" "((?:[^"\\]|\\.)*)" ?`)
)

// templateError takes the line out of an error of text/template, which knows
// it only as text, and removes what the guards put there.
func templateError(err error) *renderError {
	var missing *missingError
	if errors.As(err, &missing) {
		return &renderError{line: missing.line, message: missing.Error(), hint: "provide the value, or ask for it with {{ if }} or default"}
	}
	e := &renderError{message: err.Error()}
	if place := templateErrorPlace.FindStringSubmatch(e.message); place != nil {
		e.line, _ = strconv.Atoi(place[1])
		e.message = e.message[len(place[0]):]
	}
	e.message = guardNoise.ReplaceAllString(e.message, "")
	if at := templateErrorNoise.FindStringSubmatch(e.message); at != nil {
		e.message = e.message[len(at[0]):]
		e.at = at[1]
	}
	e.message = plainNames.Replace(e.message)
	if start := unclosedPlace.FindStringSubmatchIndex(e.message); start != nil {
		e.line, _ = strconv.Atoi(e.message[start[2]:start[3]])
		e.message = e.message[:start[0]]
	}
	for _, limit := range []error{errTooLong, errTooManySteps} {
		if errors.Is(err, limit) {
			e.message = limit.Error()
		}
	}
	return e
}

var errTooLong = fmt.Errorf("the result is longer than %d bytes", maxOutput)

// limitedBuffer ends a template that writes without end.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
