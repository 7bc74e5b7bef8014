//go:build payload

package components

import (
	"embed"
	"io/fs"
)

//go:embed all:payload
var files embed.FS

func init() {
	var err error
	if embedded, err = fs.Sub(files, "payload"); err != nil {
		panic(err) // only a malformed name is an error
	}
}
