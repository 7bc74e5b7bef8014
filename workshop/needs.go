package workshop

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Needs are what the workflows of a repository find on the forge.
type Needs struct {
	Secrets []string // those of the workshop's that they name
	// Environments says whether they ask which environment follows one, and so
	// run in environments that have Workflows.NextEnvironment.
	Environments bool
}

var secretName = regexp.MustCompile(`\bsecrets\.([A-Za-z_][A-Za-z0-9_]*)`)

// Needs reads a loaded repository's workflows for what they need: they say it
// themselves.
func (w *Workshop) Needs(r Repository) Needs {
	var n Needs
	for _, b := range r.Branches {
		for file, data := range b.Files {
			if !strings.HasPrefix(file, ".github/workflows/") {
				continue
			}
			for _, m := range secretName.FindAllSubmatch(data, -1) {
				if name := string(m[1]); slices.Contains(w.Workflows.Secrets, name) && !slices.Contains(n.Secrets, name) {
					n.Secrets = append(n.Secrets, name)
				}
			}
			n.Environments = n.Environments || w.Workflows.NextEnvironment != "" && bytes.Contains(data, []byte("vars."+w.Workflows.NextEnvironment))
		}
	}
	slices.Sort(n.Secrets)
	return n
}
