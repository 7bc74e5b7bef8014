package main

import (
	"embed"

	"github.com/argoproj/argo-cd/v3/ui"
)

// startPage is the page that Argo CD reads from the variable below and from
// nowhere else, as it puts the address it is reached by into it. All other
// files of the pages lie in a folder beside the program. The build puts the
// real page into the place of this one.
//
//go:embed dist/app/index.html
var startPage embed.FS

func usePages() { ui.Embedded = startPage }
