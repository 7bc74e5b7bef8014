//go:build payload

package components

import (
	"embed"
	"io/fs"
)

//go:embed all:payload
var files embed.FS

func embedded() (fs.FS, error) { return fs.Sub(files, "payload") }
