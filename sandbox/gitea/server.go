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
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"gopkg.in/ini.v1"
)

const giteaDeadline = 60 * time.Second

// appINI are the settings that are the same for all sandboxes.
//
//go:embed app.ini
var appINI []byte

// Server is the forge as a child process.
type Server struct {
	supervisor.Host
	Dir      string // folder for settings, database and repositories
	URL      string // address for users
	Secret   string // SECRET_KEY
	Internal string // INTERNAL_TOKEN
	JWT      string // 32 random bytes, base64url
}

// Unit is the running Gitea.
func (g Server) Unit(needs ...string) supervisor.Unit {
	p := g.Process("gitea", g.Dir)
	p.Env = g.environment()
	p.Check = func(ctx context.Context) error { return loopback.Answers(ctx, g.URL+"/api/healthz") }
	p.Prepare = func(context.Context) error {
		if err := g.PortFree("gitea"); err != nil {
			return err
		}
		return g.writeSettings()
	}
	// argv[0] is what Gitea writes into the repositories' hooks as its own
	// path: the small program that speaks for it there
	p.Path = g.path("bin", "gitea")
	p.Argv = []string{g.path("bin", "hook"), "web", "--config", g.config()}
	return supervisor.Unit{Name: "gitea", Title: "git forge", Needs: needs, Component: p, Deadline: giteaDeadline, Log: p.Log}
}

func (g Server) path(elem ...string) string {
	return filepath.Join(append([]string{g.Dir}, elem...)...)
}

func (g Server) config() string { return g.path("app.ini") }

func (g Server) environment() []string {
	// the user's own git settings, templates and hooks must not reach the forge
	return slices.Concat(g.Env, []string{"HOME=" + g.Dir, "GITEA_WORK_DIR=" + g.Dir, "GIT_CONFIG_NOSYSTEM=1"})
}

// writeSettings brings the settings files and the links to the programs to the
// state of this version of kalypso. They are replaced on every
// start; everything else in the folder is Gitea's.
func (g Server) writeSettings() error {
	staged := g.Staged("gitea")
	for _, dir := range []string{g.path("bin"), g.path("data")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	settings, err := g.settings(filepath.Join(staged, "static"))
	if err != nil {
		return err
	}
	hook, err := json.Marshal(map[string]string{
		"url":   "http://" + g.Address("gitea") + "/",
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
		os.WriteFile(g.config(), settings, 0o600),
		os.WriteFile(g.path("bin", "hook.json"), hook, 0o600),
	)
}

// settings are Gitea's, with static for the folder of its pages.
func (g Server) settings(static string) ([]byte, error) {
	name := "root"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	all, err := ini.LoadSources(ini.LoadOptions{IgnoreContinuation: true}, appINI)
	if err != nil {
		return nil, err
	}
	for _, v := range []struct{ section, key, value string }{
		{"", "RUN_USER", name},
		{"", "WORK_PATH", g.Dir},
		{"server", "HTTP_PORT", strconv.Itoa(g.Port("gitea"))},
		{"server", "ROOT_URL", g.URL + "/"},
		{"server", "LOCAL_ROOT_URL", "http://" + g.Address("gitea") + "/"},
		{"server", "STATIC_ROOT_PATH", static},
		{"server", "APP_DATA_PATH", g.path("data")},
		{"server", "LFS_JWT_SECRET", g.JWT},
		{"database", "PATH", g.path("data", "gitea.db")},
		{"security", "SECRET_KEY", g.Secret},
		{"security", "INTERNAL_TOKEN", g.Internal},
		{"oauth2", "JWT_SECRET", g.JWT},
		{"session", "PROVIDER_CONFIG", g.path("data", "sessions")},
	} {
		key, err := all.Section(v.section).NewKey(v.key, v.value)
		if err != nil {
			return nil, err
		}
		// the format has variables and no way to write their sign as itself
		if key.String() != v.value {
			return nil, fmt.Errorf("%s %q cannot be written into Gitea's settings: set KALYPSO_HOME to another path", v.key, v.value)
		}
	}
	var b bytes.Buffer
	_, err = all.WriteTo(&b)
	return b.Bytes(), err
}

func replaceLink(target, link string) error {
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, link)
}
