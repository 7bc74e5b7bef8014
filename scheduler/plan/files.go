package plan

import (
	"errors"
	"fmt"
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
	file     string
	template model.Template
}

// templatesOf returns the templates that a cluster type names. What it names
// and what is not there is a problem at the field that names it.
func templatesOf(env *model.Environment, c model.ClusterType) ([]use, []Problem) {
	var uses []use
	var problems []Problem
	find := func(file, field, name string, kind v1alpha1.TemplateType) {
		for _, t := range env.Templates {
			if t.Name == name {
				uses = append(uses, use{file, t})
				return
			}
		}
		problems = append(problems, unknownTemplate(env, c, field, name, kind))
	}
	configType := c.Spec.ConfigType
	if configType == "" {
		configType = v1alpha1.DefaultConfigType
	}
	find(namespaceFile, "namespaceService", c.Spec.NamespaceService, v1alpha1.NamespaceTemplate)
	find(configFile, "configType", configType, v1alpha1.ConfigTemplate)
	find(reconcilerFile, "reconciler", c.Spec.Reconciler, v1alpha1.ReconcilerTemplate)
	return uses, problems
}

func unknownTemplate(env *model.Environment, c model.ClusterType, field, name string, kind v1alpha1.TemplateType) Problem {
	var names []string
	for _, t := range env.Templates {
		if t.Spec.Type == kind {
			names = append(names, t.Name)
		}
	}
	hint := fmt.Sprintf("there is no template of type %s", kind)
	if near := model.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		hint = fmt.Sprintf("templates of type %s are %s", kind, strings.Join(names, ", "))
	}
	return Problem{
		Reason:   UnknownTemplate,
		Severity: model.Error,
		Position: c.At("spec", field),
		Message:  fmt.Sprintf("cluster type %s: %s names template %s, which does not exist", c.Name, field, name),
		Hint:     hint,
	}
}

// files renders all files of an assignment. They go together: with a
// problem there are none.
func (r *renderer) files(env *model.Environment, p pair, config map[string]any) (map[string][]byte, []Problem) {
	uses, problems := templatesOf(env, p.clusterType)
	data := renderData{
		DeploymentTargetName: p.target.Name,
		Namespace:            env.Name + "-" + p.clusterType.Name + "-" + p.target.Name,
		Environment:          env.Name,
		Workspace:            p.target.Workspace,
		Workload:             p.target.Workload,
		Labels:               p.target.Labels,
		Manifests:            p.target.manifests,
		ClusterType:          p.clusterType.Name,
		ConfigData:           config,
	}
	files := map[string][]byte{}
	for _, u := range uses {
		content, found := r.file(u.template, data)
		problems = append(problems, found...)
		if content != "" {
			files[u.file+extension(u.template)] = []byte(content)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return files, nil
}

func extension(t model.Template) string {
	if t.Spec.ContentType == v1alpha1.ShellContent {
		return ".sh"
	}
	return ".yaml"
}

// file renders a template's manifests into one file. Manifests that come
// out empty are left out, and so is a file of nothing.
func (r *renderer) file(t model.Template, data renderData) (string, []Problem) {
	var problems []Problem
	var file strings.Builder
	for i, manifest := range t.Spec.Manifests {
		text, err := r.manifest(manifest.Text, data, t.Spec.ContentType != v1alpha1.ShellContent)
		if err != nil {
			problems = append(problems, templateProblem(t, i, err))
			continue
		}
		text = strings.Trim(text, "\r\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if file.Len() > 0 && t.Spec.ContentType != v1alpha1.ShellContent && !strings.HasPrefix(text, "---") {
			file.WriteString("---\n")
		}
		file.WriteString(strings.TrimRight(text, " \t\r\n") + "\n")
	}
	if len(problems) > 0 {
		return "", problems
	}
	return file.String(), nil
}

// manifest renders one manifest and checks the result.
func (r *renderer) manifest(text string, data renderData, isYAML bool) (string, error) {
	out, err := r.render(text, data)
	if err != nil || !isYAML {
		return out, err
	}
	documents, err := parseYAML(out)
	if err != nil {
		var e *renderError
		if errors.As(err, &e) {
			e.message = "the result is not valid YAML: " + e.message
			e.line = templateLine(text, data, e.line)
		}
		return "", err
	}
	return out, checkNamespace(documents, out, data)
}

// checkNamespace finds namespaces whose names Kubernetes refuses. They are
// joined from several names, so nobody sees their length before.
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
		if n, ok := metadata["name"].(string); ok && len(n) > limit {
			name = n
		}
	}
	if name == "" {
		return nil
	}
	return &nameError{name: name}
}

// nameError reports a rendered name that is too long.
type nameError struct{ name string }

func (e *nameError) Error() string {
	return fmt.Sprintf("the namespace's name %s has %d characters, %d is the limit",
		e.name, len(e.name), validation.DNS1123LabelMaxLength)
}

// templateProblem puts a rendering error at its line in the template's file.
func templateProblem(t model.Template, manifest int, err error) Problem {
	problem := Problem{
		Reason:   TemplateFailed,
		Severity: model.Error,
		Position: t.At("spec", "manifests", fmt.Sprint(manifest)),
		Message:  fmt.Sprintf("template %s: %s", t.Name, err),
	}
	var failed *renderError
	var tooLong *nameError
	switch {
	case errors.As(err, &failed):
		problem.Hint = failed.hint
		if first := t.Spec.Manifests[manifest].Line; first > 0 && failed.line > 0 {
			problem.Position.Line, problem.Position.Column = first+failed.line-1, 0
		}
		if failed.line > 0 {
			problem.Message = fmt.Sprintf("template %s, line %d of manifest %d: %s", t.Name, failed.line, manifest+1, failed.message)
		}
	case errors.As(err, &tooLong):
		problem.Reason = InvalidName
		problem.Hint = "shorten the name of the workload, of its target or of the cluster type, or build the namespace from less"
	}
	return problem
}
