package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/graceful"
	"code.gitea.io/gitea/modules/setting"
	"code.gitea.io/gitea/modules/templates"
	"code.gitea.io/gitea/routers"

	"github.com/urfave/cli/v3"
)

// temporaryLife is upstream's, of files in the folder of temporary ones.
const temporaryLife = 3 * 24 * time.Hour

// guardWeb makes the command web serve this machine only. It does what Gitea's
// own does for a server that is set up, over plain HTTP; Gitea has no setting
// for the names that it may be reached by.
func guardWeb(app *cli.Command) {
	for _, c := range app.Commands {
		if c.Name == "web" {
			c.Action = web
		}
	}
}

func web(ctx context.Context, _ *cli.Command) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	graceful.InitManager(ctx)
	_ = templates.PageRenderer() // ends the process where they cannot be read
	setting.MustInstalled()
	// the two listeners that are not there
	cmd.NoInstallListener()
	cmd.NoHTTPRedirector()
	routers.InitWebInstalled(graceful.GetManager().HammerContext())
	setting.AppDataTempDir("").RemoveOutdated(temporaryLife)
	err := graceful.HTTPListenAndServe("tcp", net.JoinHostPort(setting.HTTPAddr, setting.HTTPPort), "Web", guard(routers.NormalRoutes()), false)
	<-graceful.GetManager().Done()
	return err
}

// guard keeps from the forge what a foreign web page in a browser of this
// machine may send: requests for a name that is not this machine's, with which
// the page would read what is open to everybody here, and changes that a page of
// another origin asks for, wherever they go.
func guard(next http.Handler) http.Handler {
	return withoutNames(http.NewCrossOriginProtection().Handler(next))
}

// withoutNames refuses requests for a host by another name than localhost: any
// other can have been made to lead here. An address leads where it says; pods
// know this machine by their node's. Argo CD has the same.
func withoutNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = strings.Trim(r.Host, "[]") // without a port
		}
		if !strings.EqualFold(name, "localhost") && net.ParseIP(name) == nil {
			http.Error(w, "this server is reached as localhost or by its address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
