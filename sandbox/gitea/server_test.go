package gitea

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"gopkg.in/ini.v1"
)

func TestSettingsAreReadAsTheyAreMeant(t *testing.T) {
	g := Server{
		Host: supervisor.Host{Port: func(string) int { return 3000 }},
		Dir:  "/srv/a b ü'c;d #e `f\" %g/gitea", URL: "http://localhost:3000", Secret: "s#1", Internal: "i;2", JWT: "j=3",
	}
	text, err := g.settings("/static files")
	if err != nil {
		t.Fatal(err)
	}
	read, err := ini.LoadSources(ini.LoadOptions{IgnoreContinuation: true}, text) // as Gitea does
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range [][2]string{
		{"", "WORK_PATH"}, {"server", "HTTP_ADDR"}, {"server", "APP_DATA_PATH"}, {"server", "STATIC_ROOT_PATH"}, {"server", "ROOT_URL"}, {"server", "HTTP_PORT"},
		{"server", "LOCAL_ROOT_URL"}, {"server", "LFS_JWT_SECRET"}, {"database", "PATH"}, {"session", "PROVIDER_CONFIG"},
		{"security", "SECRET_KEY"}, {"security", "INTERNAL_TOKEN"}, {"security", "PASSWORD_HASH_ALGO"}, {"oauth2", "JWT_SECRET"},
		{"cron.stop_zombie_tasks", "SCHEDULE"},
	} {
		got[name[1]] = read.Section(name[0]).Key(name[1]).String()
	}
	want := map[string]string{
		"WORK_PATH": g.Dir, "HTTP_ADDR": "127.0.0.1", "APP_DATA_PATH": g.Dir + "/data", "STATIC_ROOT_PATH": "/static files", "ROOT_URL": "http://localhost:3000/", "HTTP_PORT": "3000",
		"LOCAL_ROOT_URL": "http://127.0.0.1:3000/", "LFS_JWT_SECRET": "j=3", "PATH": g.Dir + "/data/gitea.db", "PROVIDER_CONFIG": g.Dir + "/data/sessions",
		"SECRET_KEY": "s#1", "INTERNAL_TOKEN": "i;2", "PASSWORD_HASH_ALGO": "pbkdf2$1000$50", "JWT_SECRET": "j=3", "SCHEDULE": "@every 1m",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\n%s", d, text)
	}
}

func TestPathWithAVariableOfTheSettingsIsRefused(t *testing.T) {
	g := Server{Dir: "/srv/%(RUN_MODE)s", Host: supervisor.Host{Port: func(string) int { return 0 }}}
	if text, err := g.settings("/static"); err == nil {
		t.Errorf("accepted:\n%s", text)
	}
}
