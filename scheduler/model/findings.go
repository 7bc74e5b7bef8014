package model

import (
	"bytes"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// findings collects diagnostics and what their errors put in doubt.
type findings struct {
	diagnostics       []Diagnostic
	incomplete        bool // an object may be missing
	configIncomplete  bool // a platform ConfigMap may be missing
	schemasIncomplete bool // a ConfigSchema may be missing
}

// add keeps a diagnostic about a document of a kind, "" where the kind cannot
// be known.
func (f *findings) add(kind string, d Diagnostic) {
	f.diagnostics = append(f.diagnostics, d)
	if d.Severity != Error {
		return
	}
	f.incomplete = true
	f.configIncomplete = f.configIncomplete || kind == "" || kind == kindConfigMap
	f.schemasIncomplete = f.schemasIncomplete || kind == "" || kind == v1alpha1.KindConfigSchema
}

// join adds what others have found.
func (f *findings) join(others findings) {
	f.diagnostics = append(f.diagnostics, others.diagnostics...)
	f.incomplete = f.incomplete || others.incomplete
	f.configIncomplete = f.configIncomplete || others.configIncomplete
	f.schemasIncomplete = f.schemasIncomplete || others.schemasIncomplete
}

// beyond reports a file that is too large to be parsed. What cannot hold any of
// the platform model is passed over: many a repository has data in YAML.
func (f *findings) beyond(position Position, content []byte, limit *LimitError) {
	config := content == nil || bytes.Contains(content, []byte(platformConfigLabel))
	if !config && !bytes.Contains(content, []byte(v1alpha1.Group)) {
		return
	}
	f.add("", Diagnostic{
		Severity: Error,
		Position: position,
		Message:  "the file is too large: " + limit.Error(),
		Hint:     "split it, or name it in " + ignoreFile + " if it is no part of the platform model",
	})
}

// unparsable reports a file that is not YAML. A file that mentions nothing of
// the platform model cannot hold any of it, so there the finding is a warning:
// a chart's templates beside a workload must not put the workload in doubt.
func (f *findings) unparsable(position Position, content []byte, err error) {
	line, message := ExplainYAML(content, err)
	position.Line = line
	d := Diagnostic{Severity: Error, Position: position, Message: "not valid YAML: " + message}
	config := bytes.Contains(content, []byte(platformConfigLabel))
	if !config && !bytes.Contains(content, []byte(v1alpha1.Group)) {
		d.Severity = Warning
		d.Hint = "name the file in " + ignoreFile + " if it is no part of the platform model"
		f.add("", d)
		return
	}
	d.Hint = "all documents of the file are left out until it parses"
	kind := v1alpha1.Group
	if config {
		kind = kindConfigMap
	}
	f.add(kind, d)
	f.schemasIncomplete = f.schemasIncomplete || bytes.Contains(content, []byte(v1alpha1.KindConfigSchema))
}
