package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The names, without extension, of the files that make an assignment.
const (
	namespaceFile  = "namespace"
	configFile     = "platform-config"
	reconcilerFile = "reconciler"
)

// use is a template of a cluster type and the file it makes.
type use struct {
	file     string // with extension
	template *knownTemplate
}

type knownTemplate struct {
	model.Template
	id    int64
	usage fieldUsage
}

type templates struct {
	objects []model.Template
	byName  map[string]*knownTemplate

	useNamespace bool // some of them
}

// next returns an environment's templates. Those that have not changed are the
// same as before, and so is the whole when none has.
func (t *templates) next(env *model.Environment, id func() int64) *templates {
	if t != nil && slices.EqualFunc(t.objects, env.Templates, model.Template.Same) {
		return t
	}
	n := &templates{objects: env.Templates, byName: make(map[string]*knownTemplate, len(env.Templates)), useNamespace: usesNamespace(env.Templates)}
	for _, object := range env.Templates {
		if t != nil {
			if old := t.byName[object.Name]; old != nil && old.Same(object) {
				n.byName[object.Name] = old
				continue
			}
		}
		n.byName[object.Name] = &knownTemplate{Template: object, id: id(), usage: fieldUsageOf(object.Spec)}
	}
	return n
}

// NamedTemplate is a template that a cluster type names, which need not exist.
type NamedTemplate struct {
	File  string // that it makes, without extension
	Field string // of the cluster type's spec
	Name  string
	Type  v1alpha1.TemplateType // that it must have
}

// NamedTemplates returns the templates that a cluster type names.
func NamedTemplates(c *model.ClusterType) []NamedTemplate {
	return []NamedTemplate{
		{namespaceFile, "namespaceService", c.Spec.NamespaceService, v1alpha1.NamespaceTemplate},
		{configFile, "configType", cmp.Or(c.Spec.ConfigType, v1alpha1.DefaultConfigType), v1alpha1.ConfigTemplate},
		{reconcilerFile, "reconciler", c.Spec.Reconciler, v1alpha1.ReconcilerTemplate},
	}
}

// of returns the templates that a cluster type names, and problems at the fields
// that name one that does not exist or is of another type.
func (t *templates) of(c *model.ClusterType) (uses []use, unknown, mistyped []Problem) {
	for _, n := range NamedTemplates(c) {
		found := t.byName[n.Name]
		if found == nil {
			unknown = append(unknown, newProblem(model.Error, UnknownTemplate, c.At("spec", n.Field), model.Suggest(n.Name, t.names(n.Type), t.ofType(n.Type)),
				"cluster type %s: %s names template %s, which does not exist", c.Name, n.Field, n.Name))
			continue
		}
		uses = append(uses, use{n.File + extension(found.Template), found})
		if found.Spec.Type != n.Type { // no error, because the original scheduler does not look at the type
			p := newProblem(model.Warning, UnknownTemplate, c.At("spec", n.Field), t.ofType(n.Type),
				"cluster type %s: %s names template %s, which is of type %s", c.Name, n.Field, n.Name, found.Spec.Type)
			p.Code = WrongTemplate
			mistyped = append(mistyped, p)
		}
	}
	return uses, unknown, mistyped
}

func (t *templates) ofType(kind v1alpha1.TemplateType) string {
	names := t.names(kind)
	if len(names) == 0 {
		return fmt.Sprintf("there is no template of type %s", kind)
	}
	return fmt.Sprintf("templates of type %s are %s", kind, strings.Join(names, ", "))
}

func (t *templates) names(kind v1alpha1.TemplateType) []string {
	var names []string
	for _, object := range t.objects {
		if object.Spec.Type == kind {
			names = append(names, object.Name)
		}
	}
	slices.Sort(names)
	return names
}

func extension(t model.Template) string {
	if t.Spec.ContentType == v1alpha1.ShellContent {
		return ".sh"
	}
	return ".yaml"
}

// file renders a template's manifests into one file and checks each. Manifests
// that come out empty are left out, and so is a file of nothing. Errors are given
// to a function first.
func (r *renderer) file(t model.Template, data renderData, explain func(error) error) (string, []Problem) {
	return assemble(t, func(text string) (string, error) {
		out, err := r.manifest(text, data, t.Spec.ContentType != v1alpha1.ShellContent)
		return out, explain(err)
	})
}

// keepsEnd finds the headers of block scalars that keep the empty lines at
// their end.
var keepsEnd = regexp.MustCompile(`[|>][1-9]?\+`)

// assemble puts a file together from its manifests.
func assemble(t model.Template, render func(text string) (string, error)) (string, []Problem) {
	var problems []Problem
	var file strings.Builder
	for i, manifest := range t.Spec.Manifests {
		text, err := render(manifest.Text)
		if err != nil {
			problems = append(problems, templateProblem(t, i, err))
			continue
		}
		text = strings.TrimLeft(text, "\r\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if t.Spec.ContentType == v1alpha1.ShellContent {
			file.WriteString(strings.TrimRight(text, " \t\r\n") + "\n")
			continue
		}
		if file.Len() > 0 && !beginsDocument(text) {
			file.WriteString("---\n")
		}
		// What follows the last line may belong to a block scalar.
		if !keepsEnd.MatchString(text) {
			text = strings.TrimRight(text, "\r\n")
		}
		file.WriteString(text)
		if !strings.HasSuffix(text, "\n") {
			file.WriteByte('\n')
		}
	}
	if len(problems) > 0 {
		return "", problems
	}
	return file.String(), nil
}

// beginsDocument says whether a text begins with YAML's mark for a new document.
func beginsDocument(text string) bool {
	rest, ok := strings.CutPrefix(text, "---")
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n"))
}

// manifest renders one manifest and checks the result.
func (r *renderer) manifest(text string, data renderData, isYAML bool) (string, error) {
	made, err := r.rounds(text, data)
	if err != nil {
		return "", err
	}
	out, err := made.text()
	if err != nil {
		return "", err
	}
	if !isYAML {
		return out, made.checkShell()
	}
	nodes, documents, err := parseYAML(out)
	if err == nil {
		err = made.checkStructure(nodes)
	}
	if invalid := (*renderError)(nil); errors.As(err, &invalid) {
		invalid.message = "the result is not valid YAML: " + invalid.message
		invalid.line = templateLine(text, data, invalid.line)
	}
	if err != nil {
		return "", err
	}
	return out, checkNamespace(documents, out, data)
}

// checkNamespace finds namespaces whose names Kubernetes refuses: they are joined
// from several names, which may hold dots.
func checkNamespace(documents []any, text string, data renderData) error {
	const limit = validation.DNS1123LabelMaxLength
	name := ""
	if len(data.Namespace) > limit && strings.Contains(text, data.Namespace) {
		name = data.Namespace
	}
	for _, document := range documents {
		object, _ := document.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		if object["apiVersion"] != "v1" || object["kind"] != "Namespace" {
			continue
		}
		if n, ok := metadata["name"].(string); ok && len(validation.IsDNS1123Label(n)) > 0 {
			name = n
		}
	}
	if name == "" {
		return nil
	}
	return &nameError{name: name}
}

// nameError reports a rendered name that Kubernetes refuses.
type nameError struct{ name string }

func (e *nameError) Error() string {
	const limit = validation.DNS1123LabelMaxLength
	if len(e.name) > limit {
		return fmt.Sprintf("the namespace's name %s has %d characters, %d is the limit", e.name, len(e.name), limit)
	}
	return fmt.Sprintf("the namespace's name %q is none that Kubernetes takes", e.name)
}

func (e *nameError) hint() string {
	if len(e.name) > validation.DNS1123LabelMaxLength {
		return "shorten the name of the workload, of its target or of the cluster type, or build the namespace from less"
	}
	return "it must consist of lower-case letters, digits and dashes, and begin and end with a letter or digit"
}

// templateProblem puts a rendering error at its line in the template's file.
func templateProblem(t model.Template, manifest int, err error) Problem {
	problem := newProblem(model.Error, TemplateFailed, t.At("spec", "manifests", fmt.Sprint(manifest)), "",
		"template %s: %s", t.Name, err)
	var failed *renderError
	var refused *nameError
	var unsafe *structureError
	switch {
	case errors.As(err, &unsafe):
		problem.Reason = InvalidText
		if unsafe.line > 0 {
			problem.Message = fmt.Sprintf("template %s, line %d of manifest %d: %s", t.Name, unsafe.line, manifest+1, err)
		}
		problem.Hint = "change the text, or have the template quote it: {{ ... | quote }}"
		if first := t.Spec.Manifests[manifest].Line; first > 0 && unsafe.line > 0 {
			problem.Position.Line, problem.Position.Column = first+unsafe.line-1, 0
		}
		if unsafe.position.File != "" {
			problem.Position = unsafe.position
		}
	case errors.As(err, &failed):
		problem.Hint = failed.hint
		if failed.position.File != "" {
			problem.Position = failed.position
		}
		if first := t.Spec.Manifests[manifest].Line; first > 0 && failed.line > 0 {
			problem.Position.Line, problem.Position.Column = first+failed.line-1, 0
		}
		if failed.line > 0 {
			problem.Message = fmt.Sprintf("template %s, line %d of manifest %d: %s", t.Name, failed.line, manifest+1, failed.message)
		}
	case errors.As(err, &refused):
		problem.Reason = InvalidName
		problem.Hint = refused.hint()
	}
	return problem
}
