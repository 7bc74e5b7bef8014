package model

import (
	"cmp"
	"slices"
)

// compareDiagnostics orders diagnostics by place, then by text.
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
