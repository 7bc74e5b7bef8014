// Package githubapi holds requests and answers to what GitHub publishes of its
// API, the OpenAPI description of REST and the schema of GraphQL, for tests: a client that asks what the
// description does not have, or a fake that answers less than GitHub does,
// fails there.
package githubapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Description is what GitHub says of its REST API.
type Description struct {
	document   object
	operations map[string][]operation // by method
	compiler   *jsonschema.Compiler

	mu      sync.Mutex // for the compiler
	schemas map[string]*jsonschema.Schema
}

// operation is what may be asked of a path.
type operation struct {
	path       string
	segments   []string
	ofSegments bool // the path ends with a parameter that may have slashes
}

// Exchange is a request and its answer.
type Exchange struct {
	Method string
	URL    *url.URL // without what is before the API's own paths
	Header http.Header
	Body   []byte

	Status       int
	AnswerHeader http.Header
	Answer       []byte
}

var load = sync.OnceValues(func() (*Description, error) {
	data, err := rest.published(context.Background())
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	d := &Description{document: v.(object), operations: map[string][]operation{}, schemas: map[string]*jsonschema.Schema{}}
	if err := d.correct(); err != nil {
		return nil, err
	}
	d.document = translate(v, extended(v, map[string]bool{}), "").(object)
	for path, item := range d.document["paths"].(object) {
		for method := range item.(object) {
			o := operation{path, strings.Split(path, "/"), d.ofSegments(path, method)}
			d.operations[strings.ToUpper(method)] = append(d.operations[strings.ToUpper(method)], o)
		}
	}
	d.compiler = jsonschema.NewCompiler()
	d.compiler.AssertFormat()
	return d, d.compiler.AddResource(address, d.document)
})

// address is where the compiler has the document.
const address = "github:api"

// Load returns the description. The first call on a machine fetches it.
func Load() (*Description, error) { return load() }

// Check returns all in which an exchange is not what the description says. A
// request that was refused may be anything.
func (d *Description) Check(x Exchange) error {
	path, values := d.route(x.Method, x.URL.EscapedPath())
	if path == "" {
		if x.Status == http.StatusNotFound {
			return nil
		}
		return fmt.Errorf("%s %s: the description has no such operation", x.Method, x.URL.EscapedPath())
	}
	at := pointer("", "paths", path, strings.ToLower(x.Method))
	operation, _ := d.follow(at)
	wrong := d.checkAnswer(at, operation, x)
	if x.Status < http.StatusBadRequest {
		wrong = errors.Join(wrong, d.checkParameters(at, operation, values, x.URL.Query()), d.checkRequest(at, operation, x))
	}
	if wrong != nil {
		return fmt.Errorf("%s %s (%s): %w", x.Method, x.URL.EscapedPath(), path, wrong)
	}
	return nil
}

// route finds the path of a request and the values of its parameters, escaped.
// A literal segment goes before a parameter.
func (d *Description) route(method, path string) (found string, values map[string]string) {
	if rest, ok := strings.CutPrefix(path, "/repositories/"); ok { // where renamed repositories lead
		_, rest, _ = strings.Cut(rest, "/")
		path = strings.TrimSuffix("/repos/by/id/"+rest, "/")
	}
	segments := strings.Split(path, "/")
	best := -1
	for _, o := range d.operations[method] {
		if len(segments) < len(o.segments) || len(segments) > len(o.segments) && !o.ofSegments {
			continue
		}
		literal, match, of := 0, true, map[string]string{}
		for i, s := range o.segments {
			switch {
			case strings.HasPrefix(s, "{") && i == len(o.segments)-1:
				of[strings.Trim(s, "{}")] = strings.Join(segments[i:], "/")
			case strings.HasPrefix(s, "{"):
				of[strings.Trim(s, "{}")] = segments[i]
			default:
				literal++
				match = match && s == segments[i]
			}
			if !match {
				break
			}
		}
		if match && literal > best {
			best, found, values = literal, o.path, of
		}
	}
	return found, values
}

// ofSegments reports whether the end of a path is a parameter with slashes in it.
func (d *Description) ofSegments(path, method string) bool {
	at := pointer("", "paths", path, method)
	operation, _ := d.follow(at)
	list, _ := operation["parameters"].([]any)
	for i := range list {
		p, _ := d.follow(pointer(at, "parameters", strconv.Itoa(i)))
		if p["x-multi-segment"] == true && p["in"] == "path" && strings.HasSuffix(path, "/{"+p["name"].(string)+"}") {
			return true
		}
	}
	return false
}

// checkParameters holds the values in the path and the query to their schemas.
func (d *Description) checkParameters(at string, operation object, values map[string]string, query url.Values) error {
	var wrong error
	known := map[string]bool{}
	list, _ := operation["parameters"].([]any)
	for i := range list {
		p, where := d.follow(pointer(at, "parameters", strconv.Itoa(i)))
		name, _ := p["name"].(string)
		var given []string
		switch p["in"] {
		case "path":
			value, err := url.PathUnescape(values[name])
			wrong = errors.Join(wrong, err)
			given = []string{value}
		case "query":
			known[name] = true
			given = query[name]
			if len(given) == 0 && p["required"] == true {
				wrong = errors.Join(wrong, fmt.Errorf("the query lacks %s", name))
			}
		}
		for _, value := range given {
			if err := d.validateText(pointer(where, "schema"), value); err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("the parameter %s: %w", name, err))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !known[name] {
			wrong = errors.Join(wrong, fmt.Errorf("there is no parameter %s of the query", name))
		}
	}
	return wrong
}

func (d *Description) checkRequest(at string, operation object, x Exchange) error {
	if operation["requestBody"] == nil {
		if len(bytes.TrimSpace(x.Body)) > 0 {
			return fmt.Errorf("the request has a body, and may have none: %s", x.Body)
		}
		return nil
	}
	body, where := d.follow(pointer(at, "requestBody"))
	if len(bytes.TrimSpace(x.Body)) == 0 {
		if body["required"] == true {
			return errors.New("the request lacks its body")
		}
		return nil
	}
	return d.checkContent("request", where, body, x.Header.Get("Content-Type"), x.Body)
}

func (d *Description) checkAnswer(at string, operation object, x Exchange) error {
	responses := operation["responses"].(object)
	status := strconv.Itoa(x.Status)
	if responses[status] == nil {
		// operations do not list each refusal and redirect that every one of them has
		if x.Status < http.StatusMultipleChoices {
			return fmt.Errorf("the answer has the status %s, the description %s", status, strings.Join(slices.Sorted(maps.Keys(responses)), ", "))
		}
		if x.Status == http.StatusNotModified {
			return nil
		}
		return d.validate(pointer("", "components", "schemas", "basic-error"), "answer", x.Answer)
	}
	response, where := d.follow(pointer(at, "responses", status))
	if response["content"] == nil {
		if x.Status < http.StatusMultipleChoices && len(x.Answer) > 0 {
			return fmt.Errorf("the answer %s has a body, and GitHub's has none: %s", status, x.Answer)
		}
		return nil
	}
	return d.checkContent("answer", where, response, x.AnswerHeader.Get("Content-Type"), x.Answer)
}

// checkContent holds a body to the schema of its type.
func (d *Description) checkContent(what, at string, of object, contentType string, data []byte) error {
	content, _ := of["content"].(object)
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("the %s's type %q: %w", what, contentType, err)
	}
	kind = strings.Replace(kind, "application/vnd.github+json", "application/json", 1)
	if content[kind] == nil {
		return fmt.Errorf("the %s has the type %s, the description %s", what, kind, strings.Join(slices.Sorted(maps.Keys(content)), ", "))
	}
	if kind != "application/json" {
		return nil
	}
	return d.validate(pointer(at, "content", kind, "schema"), what, data)
}

func (d *Description) validate(at, what string, data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("the %s: %w", what, err)
	}
	if err := d.validateValue(at, v); err != nil {
		return fmt.Errorf("the %s: %w", what, err)
	}
	return nil
}

// validateText validates what stands in a path or a query, as the number or the
// flag that it may be, or as the text that it is.
func (d *Description) validateText(at, text string) error {
	err := d.validateValue(at, text)
	if err == nil {
		return nil
	}
	if v, no := jsonschema.UnmarshalJSON(strings.NewReader(text)); no == nil {
		return d.validateValue(at, v)
	}
	return err
}

func (d *Description) validateValue(at string, v any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema := d.schemas[at]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(address + "#" + (&url.URL{Path: at}).EscapedPath()); err != nil {
			return err
		}
		d.schemas[at] = schema
	}
	return schema.Validate(v)
}

// follow returns what is at a pointer and, where that is a reference, what it
// refers to, and where.
func (d *Description) follow(at string) (object, string) {
	var v any = d.document
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		part = unescape.Replace(part)
		switch in := v.(type) {
		case object:
			v = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(in) {
				return nil, at
			}
			v = in[i]
		}
	}
	o, _ := v.(object)
	if ref, ok := o["$ref"].(string); ok {
		return d.follow(strings.TrimPrefix(ref, "#"))
	}
	return o, at
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointer adds to a JSON pointer.
func pointer(to string, parts ...string) string {
	for _, part := range parts {
		to += "/" + escape.Replace(part)
	}
	return to
}
