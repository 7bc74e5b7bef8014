package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

const (
	// ticketValid is for how long a URL lets its user in.
	ticketValid = time.Minute
	// actionLimit is how long a request waits for a component or a cluster.
	actionLimit = 2 * time.Minute
)

// openSandbox opens the database of a sandbox's hub.
func openSandbox(ctx context.Context, home sandbox.Home) (*store.Store, error) {
	file := sandbox.HubDatabase(home)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if _, err := home.Load(); err != nil {
			return nil, err
		}
		return nil, errors.New("the sandbox's hub has not run yet: `kalypso up` starts it")
	}
	return store.Open(ctx, store.Options{SQLite: file})
}

// TicketURL is the URL of a page of a sandbox's hub with a ticket, which lets its user in
// once, within a minute.
func TicketURL(ctx context.Context, home sandbox.Home, page string) (string, error) {
	s, err := openSandbox(ctx, home)
	if err != nil {
		return "", err
	}
	defer s.Close()
	ticket, err := s.CreateTicket(ctx, store.Identity{Subject: "owner", Role: "owner"}, ticketValid)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(page, "/") + "/enter#t=" + ticket, nil
}

// shareOf is the share of a sandbox's hub, nil when it is not shared.
func shareOf(home sandbox.Home) (*hub.Share, error) {
	share, err := home.Share()
	if share == nil {
		return nil, err
	}
	certificate, key := home.ShareCertificate()
	return &hub.Share{Address: share.Address, Token: share.Token, Certificate: hub.TLSConfig{CertFile: certificate, KeyFile: key}}, nil
}

// ofSandbox is what the hub's pages show of the sandbox that it is a part of, and do to it.
type ofSandbox struct{ home sandbox.Home }

var _ api.Sandbox = ofSandbox{}

// Status implements api.Sandbox.
func (s ofSandbox) Status(ctx context.Context) (api.SandboxStatus, error) {
	status, err := sandbox.GetStatus(ctx, s.home)
	if err != nil {
		return api.SandboxStatus{}, err
	}
	all := api.SandboxStatus{Components: []api.SandboxComponent{}, Clusters: []api.SandboxCluster{}, Servers: []api.SandboxServer{}}
	nodes := map[string]string{}
	for _, c := range status.Components {
		if c.OneShot && c.State == supervisor.Ready {
			continue // it is done
		}
		all.Components = append(all.Components, api.SandboxComponent{
			Name: c.Name, State: string(c.State), PID: c.PID, MemoryBytes: c.MemoryBytes, Restarts: c.Restarts, Reason: c.Reason, Since: c.Since,
		})
		if c.Name == "node-"+c.Group && strings.HasPrefix(c.Title, "simulated") {
			nodes[c.Group] = "simulated"
		}
	}
	for _, c := range status.Existing {
		nodes[c.Name] = "attached"
	}
	clusters, err := sandbox.Clusters(ctx, s.home)
	if err != nil {
		return api.SandboxStatus{}, err
	}
	for _, c := range clusters {
		node := cmp.Or(nodes[c.Name], "real")
		if c.Kind != workshop.RealCluster {
			node = string(c.Kind)
		}
		all.Clusters = append(all.Clusters, api.SandboxCluster{Name: c.Name, State: c.State, Type: c.Type, Node: node})
	}
	snapshots, err := snapshot.List(s.home)
	if err != nil {
		return api.SandboxStatus{}, err
	}
	for _, one := range snapshots {
		all.Snapshots = append(all.Snapshots, api.SandboxSnapshot{Name: one.Name, Saved: one.Created, Bytes: one.Bytes, Version: one.Version})
	}
	pages, err := sandbox.WebPages(ctx, s.home)
	for _, p := range pages {
		all.Servers = append(all.Servers, api.SandboxServer{Name: p.Name, URL: p.URL, User: p.User})
	}
	return all, err
}

// Restart implements api.Sandbox.
func (s ofSandbox) Restart(ctx context.Context, component string) error {
	_, err := sandbox.Restart(ctx, s.home, component, actionLimit, nil)
	return err
}

// StartCluster implements api.Sandbox.
func (s ofSandbox) StartCluster(ctx context.Context, name string) error {
	_, err := sandbox.StartCluster(ctx, s.home, name, actionLimit, nil)
	return err
}

// StopCluster implements api.Sandbox.
func (s ofSandbox) StopCluster(ctx context.Context, name string) error {
	_, err := sandbox.StopCluster(ctx, s.home, name, nil)
	return err
}

// Credentials implements api.Sandbox.
func (s ofSandbox) Credentials(_ context.Context, server string) (api.SandboxCredentials, error) {
	c, err := sandbox.GetCredentials(s.home)
	if err != nil {
		return api.SandboxCredentials{}, err
	}
	if server == "gitea" {
		return api.SandboxCredentials{User: c.User, Password: c.Password, Token: c.Token}, nil
	}
	if i := slices.IndexFunc(c.ArgoCD, func(sandbox.ArgoCDLogin) bool { return server == "argocd" }); i >= 0 {
		return api.SandboxCredentials{User: c.ArgoCD[i].User, Password: c.ArgoCD[i].Password}, nil
	}
	return api.SandboxCredentials{}, fmt.Errorf("%s asks for no password: %w", server, store.ErrNotFound)
}

// logLines is how much of a log is shown that is not followed.
const logLines = 1000

// Log implements api.Sandbox.
func (s ofSandbox) Log(ctx context.Context, component string, follow bool) (io.ReadCloser, error) {
	path, err := sandbox.FindLog(s.home, component)
	if err != nil {
		return nil, errors.Join(err, store.ErrNotFound)
	}
	r, w := io.Pipe()
	read := func() error { return supervisor.ReadLog(w, path, supervisor.LogQuery{Lines: logLines}) }
	if follow {
		read = func() error { return supervisor.FollowLog(ctx, w, path, supervisor.LogQuery{Lines: logLines}) }
	}
	go func() { w.CloseWithError(cmp.Or(read(), io.EOF)) }()
	return r, nil
}
