// Command gitea is the Gitea server and command line, linked without cgo.
//
// Its templates, options and web assets are not inside: they lie beside it in
// the archive and are named with STATIC_ROOT_PATH. The program exits the
// process by itself and handles signals itself, so it must run as a child.
package main

import (
	"os"
	"runtime/debug"
	"slices"
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
	guardWeb(app)
	_ = cmd.RunMainApp(app, withPassword(os.Args)...)
	log.GetManager().Close()
}

// passwordVariable has the password of an account that is made: everybody on
// the machine sees the arguments of a process.
const passwordVariable = "GITEA_NEW_PASSWORD"

// withPassword are the arguments with what only this process may see.
func withPassword(args []string) []string {
	password, ok := os.LookupEnv(passwordVariable)
	if !ok {
		return args
	}
	return append(slices.Clone(args), "--password="+password)
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
