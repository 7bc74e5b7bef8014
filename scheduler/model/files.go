package model

import "github.com/kalypso-dev/kalypso/scheduler/v1alpha1"

// LoadFiles reads the objects at or below a folder of a tree, each for itself:
// nothing that they name is looked for. What comes back has no name and is no
// environment to plan; it is for whoever checks a change that no environment
// has taken yet.
func LoadFiles(tree *Tree, folder string) *Environment {
	l := &loader{env: new(Environment), now: newMemory(nil)}
	c := &l.all
	for _, doc := range l.now.documents(tree, folder, &c.findings, &c.findings) {
		c.add(doc)
	}
	c.addIgnoredEnvironments(tree, folder)
	unique(v1alpha1.KindEnvironment, c.environments, &c.findings)
	unique(v1alpha1.KindBaseRepo, c.bases, &c.findings)
	unique(v1alpha1.KindGitOpsRepo, c.gitOps, &c.findings)
	l.keepObjects()
	l.env.Diagnostics, l.env.Blank = sortDiagnostics(c.findings.diagnostics), sortDiagnostics(c.findings.blank)
	return l.env
}
