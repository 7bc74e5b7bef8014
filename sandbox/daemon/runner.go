package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	runnerDeadline = 30 * time.Second
	// runnerPoll finds what a lost webhook was about, and work in
	// repositories that are not the organisation's.
	runnerPoll = 3 * time.Second
)

// runnerUnit runs the forge's workflows, as a child so that whatever a job
// does to it stays there. It needs the forge with its accounts.
func (st *Stack) runnerUnit(needs ...string) supervisor.Unit {
	p := st.configuredProcess("runner", "config.json", func(ctx context.Context, config string) (path string, argv []string, content []byte, err error) {
		content, err = st.runnerConfig(ctx)
		return filepath.Join(st.host.Staged("runner"), "runner"), []string{"runner", "--config", config}, content, err
	})
	p.Check = func(ctx context.Context) error {
		return loopback.Answers(ctx, "http://"+st.state.Address("runner")+"/healthz")
	}
	return supervisor.Unit{Name: p.Name, Title: "runner of workflows", Needs: needs, Component: p, Deadline: runnerDeadline, Log: p.Log}
}

// runnerConfig is the configuration of the component, see sandbox/components/runner.
func (st *Stack) runnerConfig(ctx context.Context) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	token, err := st.registrationToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("registration token for the runner: %w", err)
	}
	user, err := WorkflowUser(st.home)
	if err != nil {
		st.log.Warn("workflows run as root", "reason", err)
	}
	programs := st.host.Staged("samples")
	// their folders may have been made for one user only
	if err := readable(programs); err != nil {
		return nil, err
	}
	cache := st.home.Path("runner", "go-build") // the jobs' homes are thrown away
	return json.Marshal(map[string]any{
		"url":               st.state.ForgeURL(),
		"dir":               st.home.Path("runner"),
		"user":              user,
		"writable":          []string{cache},
		"visible":           []string{programs, st.workflowKubeconfig()},
		"program":           program,
		"registrationToken": token,
		"poll":              runnerPoll,
		"listen":            st.state.Address("runner"),
		"secret":            st.state.WebhookSecret,
		// what `kalypso ci` in a workflow asks about clusters, see its help
		"env": map[string]string{
			"KALYPSO_FORGE":            "gitea",
			"KALYPSO_ARM_ENDPOINT":     "http://" + st.state.Address("arm"),
			"KALYPSO_ARM_SUBSCRIPTION": st.state.GUID("subscription"),
			"KALYPSO_CI_KUBECONFIG":    st.workflowKubeconfig(),
			"KALYPSO_CI_PROGRAMS":      programs,
			"KALYPSO_CI_FLEET":         "http://" + st.state.Address("arm") + fleetPath,
			"GOCACHE":                  cache,
		},
		"secretEnv": map[string]string{"KALYPSO_ARM_TOKEN": st.state.ArmToken(), "KALYPSO_CI_FLEET_TOKEN": st.state.ArmToken()},
	})
}

// readable lets all users read a folder who can get to it.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// scopedVariable is the name under which the forge keeps a variable of one
// environment: Gitea has no environments of its own, and its names have
// upper-case letters, digits and underscores only. The runner shows the variable
// to the jobs of that environment, under its plain name.
func scopedVariable(environment, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(environment))
	return "ENV__" + plain + "__" + strings.ToUpper(name)
}

// registrationToken is by what the forge lets a new runner in. It is asked for
// at each start: a reset of the forge resets its runners, too.
func (st *Stack) registrationToken(ctx context.Context) (string, error) {
	admin, err := os.ReadFile(st.gitea.TokenFile(gitea.AdminToken))
	if err != nil {
		return "", err
	}
	b, err := loopback.Call(ctx, http.MethodPost, st.state.ForgeURL()+"/api/v1/admin/actions/runners/registration-token", strings.TrimSpace(string(admin)))
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"token"`
	}
	err = json.Unmarshal(b, &answer)
	return answer.Token, err
}
