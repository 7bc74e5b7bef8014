package gitea

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/workshop"
)

// credentials are a forge that has been set up, with its setup.
func credentials(t *testing.T) (*giteafake.Server, Server, Setup) {
	t.Helper()
	forge := giteafake.Start(t)
	g := Server{URL: forge.URL, Dir: t.TempDir()}
	s := Setup{
		Organisation: "kalypso", Workshop: &workshop.Workshop{Workflows: workshop.Workflows{Secrets: []string{"PLATFORM_TOKEN"}}},
		Admin:     Account{User: "platform", Password: "first"},
		Scheduler: Account{User: "kalypso-scheduler", Password: "s"},
		Robot:     Account{User: "kalypso-workflows", Password: "r"},
		Hub:       Account{User: "kalypso-hub", Password: "h"},
	}
	forge.AddAccount(s.Admin.User, s.Admin.Password)
	commandLine(t, g, "echo 'user already exists'; exit 1")
	if _, err := g.EnsureCredentials(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return forge, g, s
}

// commandLine is Gitea's: a script that gets the command as $3.
func commandLine(t *testing.T, g Server, script string) {
	t.Helper()
	err := os.MkdirAll(g.path("bin"), 0o700)
	if err == nil {
		err = os.WriteFile(g.path("bin", "gitea"), []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func tokenFiles(t *testing.T, g Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(g.path("tokens", "*"))
	for _, file := range files {
		b, readErr := os.ReadFile(file)
		all[filepath.Base(file)], err = string(b), errors.Join(err, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differ are the names of what is not the same.
func differ(before, after map[string]string) []string {
	var names []string
	for name, value := range after {
		if before[name] != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestCredentialsThatAreKnownStay(t *testing.T) {
	forge, g, s := credentials(t)
	before := tokenFiles(t, g)
	if diff := cmp.Diff([]string{"kalypso-hub", "kalypso-scheduler", "kalypso-workflows"}, forge.Members()); diff != "" {
		t.Error(diff)
	}
	made, err := g.EnsureCredentials(t.Context(), s)
	if err != nil || len(made) != 0 {
		t.Errorf("%q, %v", made, err)
	}
	if got := differ(before, tokenFiles(t, g)); len(before) != 5 || len(got) != 0 {
		t.Errorf("%d tokens, new ones: %q", len(before), got)
	}
}

func TestCredentialsThatAreNotKnownAreRenewed(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*giteafake.Server, map[string]string)
		want []string
	}{
		"the token of Flux":            {func(f *giteafake.Server, tokens map[string]string) { f.Revoke(tokens[FluxToken]) }, []string{FluxToken}},
		"the scheduler's token":        {func(f *giteafake.Server, tokens map[string]string) { f.Revoke(tokens[SchedulerToken]) }, []string{SchedulerToken}},
		"the scheduler's account":      {func(f *giteafake.Server, _ map[string]string) { f.RemoveAccount("kalypso-scheduler") }, []string{SchedulerToken}},
		"the workflows' token":         {func(f *giteafake.Server, tokens map[string]string) { f.Revoke(tokens[RobotToken]) }, []string{RobotToken}},
		"the hub's token":              {func(f *giteafake.Server, tokens map[string]string) { f.Revoke(tokens[HubToken]) }, []string{HubToken}},
		"a secret of workflows":        {func(f *giteafake.Server, _ map[string]string) { delete(f.Secrets(), "PLATFORM_TOKEN") }, nil},
		"the administrator's password": {func(f *giteafake.Server, _ map[string]string) { f.AddAccount("platform", "another") }, nil},
		"password and tokens": {func(f *giteafake.Server, tokens map[string]string) {
			f.AddAccount("platform", "another")
			f.Revoke(tokens[AdminToken])
			f.Revoke(tokens[FluxToken])
		}, []string{FluxToken, AdminToken}},
	} {
		t.Run(name, func(t *testing.T) {
			forge, g, s := credentials(t)
			before := tokenFiles(t, g)
			c.lose(forge, before)
			commandLine(t, g, fmt.Sprintf(`case "$3" in
create) echo 'user already exists'; exit 1;;
generate-access-token) echo 'a line of the log' >&2; cat %s/next; mv -f %[1]s/next2 %[1]s/next 2>/dev/null || true;;
*) exit 2;;
esac`, g.Dir))
			for _, file := range []string{"next", "next2"} {
				if err := os.WriteFile(g.path(file), []byte(forge.AddToken("platform")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := g.EnsureCredentials(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			after := tokenFiles(t, g)
			if diff := cmp.Diff(c.want, differ(before, after)); diff != "" {
				t.Errorf("new tokens: %s", diff)
			}
			for name, user := range map[string]string{AdminToken: "platform", FluxToken: "platform", SchedulerToken: "kalypso-scheduler", RobotToken: "kalypso-workflows", HubToken: "kalypso-hub"} {
				if got := forge.TokenOf(after[name]); got != user {
					t.Errorf("the forge knows token %s as %q's", name, got)
				}
			}
			if got := forge.Secrets()["PLATFORM_TOKEN"]; got != after[RobotToken] {
				t.Errorf("workflows have %s, not %s", got, after[RobotToken])
			}
			if diff := cmp.Diff([]string{"kalypso-hub", "kalypso-scheduler", "kalypso-workflows"}, forge.Members()); diff != "" {
				t.Errorf("rights: %s", diff)
			}
		})
	}
}

func TestTokenOfAnAccountWithAnotherPasswordSaysWhyNot(t *testing.T) {
	forge, g, s := credentials(t)
	before := tokenFiles(t, g)[FluxToken]
	forge.AddAccount("platform", "another")
	forge.Revoke(before)
	commandLine(t, g, "echo no such database >&2; exit 1")
	_, err := g.EnsureCredentials(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "no such database") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if after := tokenFiles(t, g)[FluxToken]; after != before {
		t.Errorf("the token's file has %q", after)
	}
}
