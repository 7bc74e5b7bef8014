package scenarios

import (
	"bytes"
	_ "embed" // for the introduction
	"fmt"
	"strings"
	"text/template"
)

//go:embed guide_intro.md.tmpl
var guideIntro string

// workshopTitles are the tutorials' names.
var workshopTitles = map[string]struct{ Title, About, Clusters string }{
	"hello-world": {
		"Hello world",
		"A platform team onboards an application, says where it runs, and takes it from dev to stage. The application team brings out a version. Flux and Argo CD deliver both.",
		"`drone` with Flux and `large` with Argo CD",
	},
	"basic-inference": {
		"Basic inference",
		"A platform team onboards an inference application on dev and qa. The application team asks the platform for a setting, and gets it for each environment and region.",
		"`arc-cluster` with Flux, registered with an emulated Azure Arc",
	},
}

// intro is what comes before the first chapter.
func (g *guide) intro(workshop string, infos []Info) error {
	about, ok := workshopTitles[workshop]
	if !ok {
		return fmt.Errorf("the guide of %s has no introduction", workshop)
	}
	parsed, err := template.New("guide").Funcs(template.FuncMap{
		"chapter": func(i int, info Info) string { return chapterTitle(i+1, info) },
		"anchor":  func(i int, info Info) string { return anchor(chapterTitle(i+1, info)) },
	}).Parse(guideIntro)
	if err != nil {
		return fmt.Errorf("introduction of guides: %w", err)
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, map[string]any{"Workshop": workshop, "About": about, "Chapters": infos, "First": infos[0].Name})
	if err != nil {
		return fmt.Errorf("introduction of guides: %w", err)
	}
	g.part("%s", strings.TrimSpace(b.String()))
	return nil
}
