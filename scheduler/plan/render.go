package plan

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
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
	line     int // from 1; 0 when unknown
	message  string
	hint     string
	at       string         // the part of the template, where text/template has it
	key      string         // of the configuration value that failed, "" when it was the template
	position model.Position // of that value, when it is known
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
	parsed   map[string]*parsed
	variants map[string]*parsed // of templates of which something is derived
}

// parsed is a template that is ready to be executed, by one goroutine at a
// time.
type parsed struct {
	*template.Template
	steps *budget
	texts *texts
	err   error // why it cannot be executed
}

func newRenderer() *renderer {
	return &renderer{parsed: map[string]*parsed{}}
}

// rounds renders a template's text, and its result again while that still changes
// and holds an action of the platform's.
func (r *renderer) rounds(text string, data renderData) (rendition, error) {
	t := r.parse(text)
	texts := t.texts
	texts.reset()
	for round := range maxRounds {
		if round > 0 {
			t = parseTemplate(text, texts, false, nil)
		}
		out, err := execute(t, data)
		if err != nil {
			if round > 0 {
				err = nestedError(err, round, text, data)
			}
			return rendition{}, err
		}
		if !strings.Contains(out, "{{") {
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

func (r *renderer) once(text string, data renderData) (rendition, error) {
	return r.parse(text).once(data)
}

// once renders a template, and leaves its result as it is.
func (p *parsed) once(data renderData) (rendition, error) {
	p.texts.reset()
	out, err := execute(p, data)
	if err != nil {
		return rendition{}, err
	}
	return rendition{out, p.texts.printed}, nil
}

func (r *renderer) parse(text string) *parsed {
	if r.parsed[text] == nil {
		r.parsed[text] = parseTemplate(text, new(texts), true, nil)
	}
	return r.parsed[text]
}

// parseTemplate parses a template and makes it strict. Without texts to keep
// aside what workloads provide, it stays in the results, with marks that say which
// line of the template each part comes from. What is replaced before anything else
// may be nil.
func parseTemplate(text string, aside *texts, first bool, replace func(*parse.ListNode)) *parsed {
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
	if replace != nil && t.Tree != nil && t.Root != nil {
		replace(t.Root)
	}
	if aside != nil {
		setAside(t, text, first)
	}
	rewriteMissingKeys(t, text)
	if aside == nil {
		mark(t, text)
	}
	p.Template = t
	return p
}

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

// templateName is the name of every template while it is rendered, so that errors
// can be taken apart.
const templateName = "manifest"

var (
	templateErrorLine  = regexp.MustCompile(`^template: ` + templateName + `:(\d+)(?::\d+)?: `)
	templateErrorNoise = regexp.MustCompile(`^executing "(?:[^"\\]|\\.)*" at <(.*?)>: `)
	unclosedPosition   = regexp.MustCompile(` started at ` + templateName + `:(\d+)$`)
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
	if at := templateErrorLine.FindStringSubmatch(e.message); at != nil {
		e.line, _ = strconv.Atoi(at[1])
		e.message = e.message[len(at[0]):]
	}
	e.message = guardNoise.ReplaceAllString(e.message, "")
	if at := templateErrorNoise.FindStringSubmatch(e.message); at != nil {
		e.message = e.message[len(at[0]):]
		e.at = at[1]
	}
	e.message = plainNames.Replace(e.message)
	if start := unclosedPosition.FindStringSubmatchIndex(e.message); start != nil {
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

// nestedError explains an error in a later round, whose line is one of the result
// before. The action that failed is of a configuration value, which is named where
// it can be found.
func nestedError(err error, round int, text string, data renderData) error {
	var e *renderError
	if !errors.As(err, &e) {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(data.ConfigData)) {
		for _, value := range actions(data.ConfigData[key], nil) {
			line, found := failsLike(e, value, text, data)
			if !found {
				continue
			}
			where := "configuration value " + key
			if value == data.ConfigData[key] && strings.Contains(value, "\n") {
				where = fmt.Sprintf("line %d of %s", line, where)
			}
			return &renderError{message: where + ": " + e.message, hint: e.hint, key: key}
		}
	}
	return &renderError{
		message: fmt.Sprintf("in line %d of the result of round %d: %s", e.line, round, e.message),
		hint:    "a configuration value holds a template action",
	}
}

// actions returns the texts of a value that hold template actions, in an order
// that is always the same.
func actions(value any, found []string) []string {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			found = append(found, v)
		}
	case map[any]any:
		fields, _ := configvalue.Fields(v)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			found = actions(fields[key], found)
		}
	case []any:
		for _, element := range v {
			found = actions(element, found)
		}
	}
	return found
}

// failsLike says whether a configuration value stands where rendering failed
// and fails by itself the same way, and in which of its lines.
func failsLike(e *renderError, value, text string, data renderData) (int, bool) {
	lines, failing := strings.Split(value, "\n"), ""
	if all := strings.Split(text, "\n"); 0 < e.line && e.line <= len(all) {
		failing = all[e.line-1]
	}
	stands := func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.Contains(failing, line)
	}
	if !slices.ContainsFunc(lines, stands) {
		return 0, false
	}
	_, err := newRenderer().once(value, data)
	var own *renderError
	if !errors.As(err, &own) || own.message != e.message || own.line < 1 || own.line > len(lines) {
		return 0, false
	}
	return own.line, stands(lines[own.line-1])
}

// trace says in an error about a configuration value which ConfigMap it comes
// from.
func trace(err error, config []ConfigValue) error {
	var e *renderError
	if !errors.As(err, &e) || e.key == "" {
		return err
	}
	v, found := valueOf(config, e.key)
	if !found {
		return err
	}
	e.position = v.Source.Position
	hint := origin(v.Key, v.sourcesAt(nil))
	if e.hint != "" {
		hint += ": " + e.hint
	}
	e.hint = hint
	return err
}

// text/template names Go's types in its errors, which template authors do not know.

var (
	noField    = regexp.MustCompile(`^can't evaluate field (\S+) in type (.+)$`)
	plainTypes = strings.NewReplacer(
		"plan.renderData", "the template's data",
		"map[string]interface {}", "map", "map[string]string", "map of texts", "map[interface {}]interface {}", "map of any keys",
		"[]interface {}", "list", "[]string", "list",
		"interface {}", "value",
	)
)

// explainFields words an error about a field that its value does not have.
func explainFields(e *renderError, data renderData) *renderError {
	found := noField.FindStringSubmatch(e.message)
	if found == nil {
		e.message = plainTypes.Replace(e.message)
		return e
	}
	field, kind := found[1], found[2]
	if kind == fmt.Sprintf("%T", data) {
		known := slices.Sorted(maps.Keys(dataFields))
		e.message = fmt.Sprintf("unknown field .%s; known are .%s", field, strings.Join(known, ", ."))
		return e
	}
	parent, _, _ := strings.Cut(e.at+".", "."+field+".")
	if parent == "" {
		parent = "."
	}
	e.message = fmt.Sprintf("%s is %s and has no field .%s", parent, kindOf(parent, kind, data), field)
	return e
}

// kindOf says what a value is that was taken for a map, for a value of the
// configuration by the value itself: its type is often that of any value.
func kindOf(parent, kind string, data renderData) string {
	path, isConfig := strings.CutPrefix(strings.TrimPrefix(parent, "$"), ".ConfigData.")
	if value, found := configvalue.Find(data.ConfigData, strings.Split(path, ".")); isConfig && found {
		kind = fmt.Sprintf("%T", value)
	}
	switch kind {
	case "string":
		return "a text"
	case "bool":
		return "a boolean"
	case "int", "int64", "uint64", "float64":
		return "a number"
	case "[]interface {}", "[]string":
		return "a list"
	}
	return "not a map"
}

// A YAML error has a line of the result, and a user corrects the template. To find
// its line the template is rendered once more with marks: before each piece stands
// its line, and whether its newlines are the template's own.

// markByte encloses marks. YAML cannot hold it.
const markByte = "\x00"

// mark puts marks before all pieces of a template.
func mark(t *template.Template, text string) {
	lines := indexLines(text)
	for _, root := range roots(t) {
		markList(root, lines)
	}
}

func markList(list *parse.ListNode, lines lineIndex) {
	if list == nil {
		return
	}
	var marked []parse.Node
	for _, node := range list.Nodes {
		kind := "a" // an action: its newlines are not the template's
		if node.Type() == parse.NodeText {
			kind = "t"
		}
		if branch := branchOf(node); branch != nil {
			markList(branch.List, lines)
			markList(branch.ElseList, lines)
		}
		line := lines.at(int(node.Position()))
		marked = append(marked, &parse.TextNode{
			NodeType: parse.NodeText,
			Pos:      node.Position(),
			Text:     fmt.Appendf(nil, "%s%s%d%s", markByte, kind, line, markByte),
		}, node)
	}
	list.Nodes = marked
}

// templateLine returns the line of a template's text that made a line of its
// result, 0 when that is not known.
func templateLine(text string, data renderData, resultLine int) int {
	if resultLine < 1 || strings.Contains(text, markByte) {
		return 0
	}
	marked, err := execute(parseTemplate(text, nil, true, nil), data)
	if err != nil {
		return 0
	}
	pieces := strings.Split(marked, markByte)
	line, at, own := 1, 1, true
	// Pieces alternate: text, mark, text, mark, text.
	for i, piece := range pieces {
		if i%2 == 1 {
			own = strings.HasPrefix(piece, "t")
			at, _ = strconv.Atoi(strings.TrimLeft(piece, "ta"))
			continue
		}
		for _, c := range piece {
			if line == resultLine && c != ' ' {
				return at
			}
			if c != '\n' {
				continue
			}
			line++
			if own {
				at++
			}
		}
	}
	if line >= resultLine {
		return at
	}
	return 0
}
