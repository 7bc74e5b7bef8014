package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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
			"KALYPSO_CI_FLEET":         st.state.FleetURL(),
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

const (
	// The IDs of users and groups that nothing else takes, by the table of
	// systemd.io/UIDS-GIDS. They are low enough for a container that has 65536.
	firstWorkflowUser = 60706
	workflowUsers     = 478

	// tokenSeconds is longer than any sandbox lives.
	tokenSeconds = 10 * 365 * 24 * 3600
)

// WorkflowUser is the ID of the user and group that workflows run as on this
// machine: one of the sandbox's own, which no account has. It is 0 where they run
// as the user who runs kalypso. That is an error for root.
func WorkflowUser(h state.Home) (int, error) {
	if os.Geteuid() != 0 {
		return 0, nil
	}
	if err := canDropRights(); err != nil {
		return 0, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(h))
	return firstWorkflowUser + int(hash.Sum32()%workflowUsers), nil
}

// workflowReader may read what `kalypso ci` in a workflow asks a cluster for, and
// nothing else.
const workflowReader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: kalypso-workflows, namespace: kube-system}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kalypso-workflows}
rules:
  - {apiGroups: [source.toolkit.fluxcd.io], resources: [gitrepositories], verbs: [get, list]}
  - {apiGroups: [kustomize.toolkit.fluxcd.io], resources: [kustomizations], verbs: [get, list]}
  - {apiGroups: [argoproj.io], resources: [applications], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kalypso-workflows}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kalypso-workflows}
subjects: [{kind: ServiceAccount, name: kalypso-workflows, namespace: kube-system}]
`

// workflowKubeconfig is the file that workflows get.
func (st *Stack) workflowKubeconfig() string { return st.home.Path("runner", "kubeconfig") }

// workflowContext is the file with a cluster's part of it. Attached clusters get
// no account for workflows: the context of the user is all there is.
func (st *Stack) workflowContext(name string) string {
	if st.attached.Has(name) {
		return st.kubeconfig(name)
	}
	return st.home.Path("runner", "clusters", name+".kubeconfig")
}

// admitWorkflows lets workflows read a cluster.
func (st *Stack) admitWorkflows(ctx context.Context, client *cluster.Client, name string) error {
	if st.attached.Has(name) {
		return nil
	}
	if err := client.Apply(ctx, []byte(workflowReader)); err != nil {
		return fmt.Errorf("account of workflows: %w", err)
	}
	body := fmt.Appendf(nil, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": %d}}`, tokenSeconds)
	b, err := client.Discovery.RESTClient().Post().AbsPath("/api/v1/namespaces/kube-system/serviceaccounts/kalypso-workflows/token").
		SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("token of workflows: %w", err)
	}
	var answer struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("token of workflows: %w", err)
	}
	if err := st.writeWorkflowContext(name, &clientcmdapi.AuthInfo{Token: answer.Status.Token}); err != nil {
		return err
	}
	return st.writeWorkflowKubeconfig()
}

func (st *Stack) writeWorkflowContext(name string, user *clientcmdapi.AuthInfo) error {
	admin, err := clientcmd.LoadFromFile(st.kubeconfig(name))
	if err != nil {
		return err
	}
	b, err := clientcmd.Write(*cluster.Kubeconfig(name, admin.Clusters[name], user))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(st.home.Path("runner", "clusters"), 0o700); err != nil {
		return err
	}
	return state.WriteFile(st.workflowContext(name), b)
}

// writeWorkflowKubeconfig puts the contexts of all clusters together. A cluster
// that has not admitted workflows yet refuses them, so that a workflow which
// waits for all clusters waits for it, too.
func (st *Stack) writeWorkflowKubeconfig() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, name := range st.state.ClusterNames() {
		_, err := os.Stat(st.workflowContext(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = st.writeWorkflowContext(name, &clientcmdapi.AuthInfo{})
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that was never started has no address
			return err
		}
	}
	b, err := cluster.MergeKubeconfigs(st.state.ClusterNames(), st.workflowContext)
	if err != nil {
		return err
	}
	if err := state.WriteFile(st.workflowKubeconfig(), b); err != nil {
		return err
	}
	user, err := WorkflowUser(st.home)
	if err != nil || user == 0 {
		return nil // workflows run as who has written it
	}
	return os.Chown(st.workflowKubeconfig(), user, user)
}
