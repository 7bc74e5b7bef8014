// Command gitea is the Gitea server and command line, linked without cgo.
//
// Its templates, options and web assets are not inside: they lie beside it in
// the archive and are named with STATIC_ROOT_PATH. The program exits the
// process by itself and handles signals itself, so it must run as a child.
package main

import (
	"os"
	"runtime/debug"
	"strings"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	"code.gitea.io/gitea/modules/setting"

	_ "code.gitea.io/gitea/modules/markup/console"
	_ "code.gitea.io/gitea/modules/markup/csv"
	_ "code.gitea.io/gitea/modules/markup/markdown"
	_ "code.gitea.io/gitea/modules/markup/orgmode"

	"github.com/urfave/cli/v3"
)

const extra = " (packed by kalypso)"

func main() {
	version := giteaVersion()
	setting.AppVer = version
	setting.AppBuiltWith = extra
	setting.AppStartTime = time.Now().UTC()
	cli.OsExiter = func(code int) {
		log.GetManager().Close()
		os.Exit(code)
	}
	app := cmd.NewMainApp(cmd.AppVersion{Version: version, Extra: extra})
	_ = cmd.RunMainApp(app, os.Args...)
	log.GetManager().Close()
}

// giteaVersion is the version of the Gitea module that is linked in, so that
// go.mod is the only place that names it.
func giteaVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "code.gitea.io/gitea" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "unknown"
}
