package stack

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	virtualDeadline = 30 * time.Second
	// virtualCache is for the contents of files that virtual clusters read anew.
	virtualCache = 4 << 20
)

// newVirtual makes the fleet of virtual clusters, which are none until its unit
// starts.
func (st *Stack) newVirtual() *virtual.Fleet {
	return virtual.New(virtual.Options{
		Git:          newForgeGit(st.state.ForgeURL(), func() ([]byte, error) { return os.ReadFile(st.gitea.TokenFile(gitea.FluxToken)) }),
		Forge:        st.state.ForgeURL(),
		Organisation: st.state.OrgURL(),
		Interval:     subscriptionInterval,
		Log:          st.log,
	})
}

// virtualUnit are all virtual clusters, in this process.
func (st *Stack) virtualUnit(needs ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: "virtual", Title: "virtual clusters", Needs: needs, Deadline: virtualDeadline,
		Component: &supervisor.Background{Run: func(ctx context.Context, _ func(string), ready func()) error {
			clusters, err := st.state.VirtualClusters()
			if err != nil {
				return &supervisor.PermanentError{Err: err}
			}
			st.virtual.Set(clusters)
			ready()
			return st.virtual.Run(ctx)
		}},
	}
}

// forgeGit reads repositories of the forge, as the reconcilers do.
type forgeGit struct {
	client *gitclient.Client
	token  func() ([]byte, error)
}

func newForgeGit(forge string, token func() ([]byte, error)) forgeGit {
	client := gitclient.New(&http.Client{Transport: loopback.Client.Transport}, virtualCache)
	client.Hosts, _ = gitclient.NewHosts(forge) // which is a URL
	return forgeGit{client, token}
}

func (g forgeGit) remote(url string) (gitclient.Remote, error) {
	token, err := g.token()
	return gitclient.Remote{URL: url, Auth: &gitclient.Auth{User: reconcilerUser, Password: strings.TrimSpace(string(token))}}, err
}

func (g forgeGit) Head(ctx context.Context, url, branch string) (string, error) {
	remote, err := g.remote(url)
	if err != nil {
		return "", err
	}
	return g.client.Head(ctx, remote, branch)
}

func (g forgeGit) Tree(ctx context.Context, url, branch, commit string) (*model.Tree, error) {
	remote, err := g.remote(url)
	if err != nil {
		return nil, err
	}
	return g.client.Tree(ctx, remote, branch, commit)
}

// fillVirtual adds the virtual clusters to a status, and to which environments are
// applied, by name. One that is offline does not count for that.
func (st *Stack) fillVirtual(status *Status, environments []controller.EnvironmentStatus, applied map[string]bool) {
	reports := st.virtual.Reports()
	status.Virtual = virtual.Groups(reports)
	for _, g := range status.Virtual {
		if g.Failed > 0 {
			status.Problems = append(status.Problems, Problem{Cluster: g.Name(), Reason: g.String()})
		}
	}
	for _, e := range environments {
		for _, r := range reports {
			i := slices.IndexFunc(r.Sources, func(s virtual.Source) bool { return s.AppliedBy.Name == "" && s.Branch == e.Name })
			if i < 0 || r.State == virtual.Offline {
				continue
			}
			was, followed := applied[e.Name]
			applied[e.Name] = r.Sources[i].Applied == e.GitOpsHead && (was || !followed)
		}
	}
}
