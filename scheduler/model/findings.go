package model

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// errorAt is a diagnostic about what is wrong at a position, and what to do.
func errorAt(code string, position Position, hint, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: Error, Position: position, Message: redact.Text(fmt.Sprintf(format, args...)), Hint: redact.Text(hint)}
}

func warningAt(code string, position Position, hint, format string, args ...any) Diagnostic {
	d := errorAt(code, position, hint, format, args...)
	d.Severity = Warning
	return d
}

// findings collects diagnostics and what is uncertain because of errors.
type findings struct {
	diagnostics       []Diagnostic
	incomplete        bool // an object may be missing
	configIncomplete  bool // a platform ConfigMap may be missing
	schemasIncomplete bool // a ConfigSchema may be missing
	basesIncomplete   bool // a BaseRepo may be missing
	blank             []Diagnostic
}

// add keeps a diagnostic about a document of a kind, "" where the kind cannot
// be known.
func (f *findings) add(kind string, d Diagnostic) {
	f.diagnostics = append(f.diagnostics, d)
	if d.Severity != Error || kind == v1alpha1.KindRollout { // which makes no manifests, so that none is in doubt
		return
	}
	f.incomplete = true
	f.configIncomplete = f.configIncomplete || kind == "" || kind == kindConfigMap
	f.schemasIncomplete = f.schemasIncomplete || kind == "" || kind == v1alpha1.KindConfigSchema
	f.basesIncomplete = f.basesIncomplete || kind == "" || kind == v1alpha1.KindBaseRepo
}

// join adds what others have found. Nothing is added to nil.
func (f *findings) join(others findings) {
	if f == nil {
		return
	}
	f.diagnostics = append(f.diagnostics, others.diagnostics...)
	f.incomplete = f.incomplete || others.incomplete
	f.configIncomplete = f.configIncomplete || others.configIncomplete
	f.schemasIncomplete = f.schemasIncomplete || others.schemasIncomplete
	f.basesIncomplete = f.basesIncomplete || others.basesIncomplete
	f.blank = append(f.blank, others.blank...)
}

// oversized reports a file that is too large to be parsed. What cannot hold any of
// the platform model is passed over: many a repository has data in YAML.
func (f *findings) oversized(position Position, content []byte, limit *LimitError) {
	config := content == nil || bytes.Contains(content, []byte(platformConfigLabel))
	if !config && !bytes.Contains(content, []byte(v1alpha1.Group)) {
		return
	}
	f.add("", errorAt(TooLarge, position, "split it, or name it in "+ignoreFile+" if it is no part of the platform model",
		"the file is too large: %s", limit))
}

// addBlank notes a file or an object that holds nothing. Its content may have been
// lost, so nothing is removed that it may have held.
func (f *findings) addBlank(position Position, message string) {
	f.blank = append(f.blank, warningAt(InvalidYAML, position, "remove it when what it held is to go; until then nothing is removed that it may have held",
		"%s", message))
	f.incomplete, f.configIncomplete = true, true
}

// addBlankFile does so for a file without any object, and warns of it.
func (f *findings) addBlankFile(position Position) {
	position.Line = 1
	f.addBlank(position, "the file holds no object")
	f.diagnostics = append(f.diagnostics, f.blank[len(f.blank)-1])
}

// unparsable reports a file that is not YAML. Flux refuses a folder that holds
// one; but a chart's templates need not be YAML, and those beside a workload must
// not put the workload in doubt when they mention nothing of the platform model.
func (f *findings) unparsable(position Position, content []byte, chart bool, err error) {
	line, message := yamlpos.ExplainError(content, err)
	position.Line = line
	d := errorAt(InvalidYAML, position, "", "not valid YAML: %s", message)
	config := bytes.Contains(content, []byte(platformConfigLabel))
	if chart && !config && !bytes.Contains(content, []byte(v1alpha1.Group)) {
		d.Severity = Warning
		d.Hint = "name the file in " + ignoreFile + " if it is no part of the platform model"
		f.add("", d)
		return
	}
	d.Hint = "all documents of the file are left out until it parses"
	kind := v1alpha1.Group
	if config || line > bytes.Count(bytes.TrimRight(content, "\r\n"), []byte("\n")) {
		kind = kindConfigMap // what is cut off may have held more than what is left of it
	}
	f.add(kind, d)
	f.basesIncomplete = true
	f.schemasIncomplete = f.schemasIncomplete || bytes.Contains(content, []byte(v1alpha1.KindConfigSchema))
}

// Errors returns those diagnostics that are errors.
func Errors(all []Diagnostic) []Diagnostic {
	var errors []Diagnostic
	for _, d := range all {
		if d.Severity == Error {
			errors = append(errors, d)
		}
	}
	return errors
}

func compareDiagnostics(a, b Diagnostic) int {
	return cmp.Or(
		ComparePositions(a.Position, b.Position),
		cmp.Compare(a.Severity, b.Severity),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
	)
}

// ComparePositions orders positions by repository, branch, file, line and
// column.
func ComparePositions(a, b Position) int {
	return cmp.Or(
		cmp.Compare(a.Repo, b.Repo),
		cmp.Compare(a.Branch, b.Branch),
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
	)
}

// sortDiagnostics orders diagnostics and drops repeated ones, which appear
// when two registrations read the same file.
func sortDiagnostics(diagnostics []Diagnostic) []Diagnostic {
	slices.SortFunc(diagnostics, compareDiagnostics)
	return slices.Compact(diagnostics)
}
