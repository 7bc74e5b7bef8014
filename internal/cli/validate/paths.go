package validate

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
)

func (o *Options) style() report.Style {
	st := cmdutil.NewStyle(o.Out)
	return report.Style{
		Path:  o.path,
		Faint: st.Faint,
		Paint: func(severity model.Severity, text string) string {
			switch severity {
			case validate.Error:
				return st.Bad(text)
			case validate.Warning:
				return st.Warn(text)
			}
			return text
		},
	}
}

// path returns where an editor finds a file: on this machine, relative to the
// working folder, when it has there the content that was validated. Of branches
// that are not checked out it has not, and then it is the path in the
// repository.
func (o *Options) path(at model.Position) string {
	folders := []string{".", o.Model.ControlPlane, o.Model.Base, at.Repo}
	content, known := validate.Content(o.subjects, at)
	switch {
	case known:
	case filepath.IsAbs(at.Repo): // the folder of a workload that --workload names
		folders = []string{at.Repo}
	default:
		return at.File
	}
	for _, dir := range folders {
		file := filepath.Join(dir, filepath.FromSlash(at.File))
		present, err := os.ReadFile(file)
		if err == nil && (!known || bytes.Equal(present, content)) {
			return relative(file)
		}
	}
	return at.File
}

// relative returns a path from the working folder when it is below it.
func relative(file string) string {
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if short, err := filepath.Rel(dir, absolute); err == nil && filepath.IsLocal(short) {
		return short
	}
	return absolute
}
