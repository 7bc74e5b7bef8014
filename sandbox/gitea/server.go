// Package gitea runs the sandbox's forge, a real Gitea, and puts a workshop's
// accounts and repositories on it.
package gitea

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"text/template"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const giteaDeadline = 60 * time.Second

//go:embed app.ini.tmpl
var appINI string

// Server is the forge as a child process.
type Server struct {
	Staged   func() string // folder of the staged component, known once it is staged
	Dir      string        // folder for settings, database and repositories
	Registry string        // see supervisor.Process
	Env      []string      // environment of the child
	Log      string        // log file
	URL      string        // address for people
	Port     int           // on 127.0.0.1
	Secret   string        // SECRET_KEY
	Internal string        // INTERNAL_TOKEN
	JWT      string        // 32 random bytes, base64url
	// PortFree returns an error when the port is taken by a stranger.
	PortFree func() error
}

// Unit is the running Gitea.
func (g Server) Unit() supervisor.Unit {
	p := &supervisor.Process{
		Name:     "gitea",
		Env:      g.environment(),
		Dir:      g.Dir,
		Log:      g.Log,
		Registry: g.Registry,
		Check:    func(ctx context.Context) error { return loopback.Answers(ctx, g.URL+"/api/healthz") },
		Prepare: func(context.Context) error {
			if err := g.PortFree(); err != nil {
				return err
			}
			return g.writeSettings()
		},
	}
	// argv[0] is what Gitea writes into the repositories' hooks as its own
	// path: the small program that speaks for it there
	p.Path = g.path("bin", "gitea")
	p.Argv = []string{g.path("bin", "hook"), "web", "--config", g.config()}
	return supervisor.Unit{Name: "gitea", Title: "git forge", Component: p, Deadline: giteaDeadline, Log: g.Log}
}

func (g Server) path(elem ...string) string {
	return filepath.Join(append([]string{g.Dir}, elem...)...)
}

func (g Server) config() string { return g.path("app.ini") }

func (g Server) environment() []string {
	// the user's own git settings, templates and hooks must not reach the forge
	return append(append([]string{}, g.Env...), "HOME="+g.Dir, "GITEA_WORK_DIR="+g.Dir, "GIT_CONFIG_NOSYSTEM=1")
}

// writeSettings brings the settings files and the links to the programs to the
// state of this version of kalypso. They are replaced on every
// start; everything else in the folder is Gitea's.
func (g Server) writeSettings() error {
	staged := g.Staged()
	for _, dir := range []string{g.path("bin"), g.path("data")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	name := "root"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	ini, err := render("app.ini", appINI, map[string]any{
		"User": name, "Work": g.Dir, "Port": g.Port, "URL": g.URL, "Static": filepath.Join(staged, "static"),
		"Secret": g.Secret, "Internal": g.Internal, "JWT": g.JWT,
	})
	if err != nil {
		return err
	}
	hook, err := json.Marshal(map[string]string{
		"url":   fmt.Sprintf("http://127.0.0.1:%d/", g.Port),
		"token": g.Internal,
		"gitea": g.path("bin", "gitea"),
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"gitea", "hook"} {
		if err := replaceLink(filepath.Join(staged, name), g.path("bin", name)); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(g.config(), ini, 0o600),
		os.WriteFile(g.path("bin", "hook.json"), hook, 0o600),
	)
}

func replaceLink(target, link string) error {
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, link)
}

func render(name, text string, data map[string]any) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}
