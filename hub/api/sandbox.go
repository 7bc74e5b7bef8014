package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Sandbox is what the hub can do with the sandbox that it is a component of. Errors about a name
// that is not there wrap store.ErrNotFound.
type Sandbox interface {
	Status(ctx context.Context) (SandboxStatus, error)
	Restart(ctx context.Context, component string) error
	StartCluster(ctx context.Context, name string) error
	StopCluster(ctx context.Context, name string) error
	// Credentials are those of one of Status's servers.
	Credentials(ctx context.Context, server string) (SandboxCredentials, error)
	// Log is a component's log; with follow it goes on until ctx ends.
	Log(ctx context.Context, component string, follow bool) (io.ReadCloser, error)
}

type (
	// SandboxStatus is what runs on this machine.
	SandboxStatus struct {
		Components []SandboxComponent `json:"components"`
		Clusters   []SandboxCluster   `json:"clusters"`
		Servers    []SandboxServer    `json:"places"`
		Snapshots  []SandboxSnapshot  `json:"snapshots" doc:"The oldest first."`
	}
	// SandboxComponent is a program of the sandbox.
	SandboxComponent struct {
		Name        string    `json:"name"`
		State       string    `json:"state"`
		PID         int       `json:"pid"`
		MemoryBytes int64     `json:"memoryBytes"`
		Restarts    int       `json:"restarts"`
		Reason      string    `json:"reason"`
		Since       time.Time `json:"since,omitzero"`
	}
	// SandboxCluster is a cluster of the sandbox.
	SandboxCluster struct {
		Name  string `json:"name"`
		State string `json:"state"`
		Type  string `json:"type" doc:"Its cluster type."`
		Node  string `json:"node" doc:"Real, or simulated."`
	}
	// SandboxServer is a server with pages.
	SandboxServer struct {
		Name string `json:"name"`
		URL  string `json:"url"`
		User string `json:"user" doc:"Empty where nobody signs in."`
	}
	// SandboxSnapshot is saved data of the sandbox.
	SandboxSnapshot struct {
		Name    string    `json:"name"`
		Saved   time.Time `json:"saved"`
		Bytes   int64     `json:"bytes" doc:"That it takes on disk."`
		Version string    `json:"version" doc:"Of the kalypso that saved it."`
	}
	// SandboxCredentials are how to sign in to a server.
	SandboxCredentials struct {
		User     string `json:"user"`
		Password string `json:"password"`
		Token    string `json:"token"`
	}
	// NameInput names something of the sandbox.
	NameInput struct {
		Name string `path:"name"`
	}
	// LogInput asks for a log.
	LogInput struct {
		NameInput
		Follow bool `query:"follow" doc:"It goes on with what is written."`
	}
)

func (a *api) sandboxRoutes() {
	get(a, operation{id: "getSandbox", path: "/sandbox", summary: "What runs on this machine"}, func(ctx context.Context, _ *struct{}) (SandboxStatus, error) {
		return a.sandboxStatus(ctx)
	})
	change(a, operation{id: "restartComponent", path: "/sandbox/components/{name}/restart", summary: "Restart a component", role: Owner}, a.onSandbox("component", components, a.Sandbox.Restart))
	change(a, operation{id: "startCluster", path: "/sandbox/clusters/{name}/start", summary: "Start a cluster", role: Owner}, a.onSandbox("cluster", clustersOf, a.Sandbox.StartCluster))
	change(a, operation{id: "stopCluster", path: "/sandbox/clusters/{name}/stop", summary: "Stop a cluster", role: Owner}, a.onSandbox("cluster", clustersOf, a.Sandbox.StopCluster))
	get(a, operation{id: "getCredentials", path: "/sandbox/places/{name}/credentials", summary: "How to sign in to a server", role: Owner, audited: true}, a.credentials)
	o := operation{id: "getLog", path: "/sandbox/logs/{name}", summary: "The log of a component", role: Owner}.huma()
	o.Responses = map[string]*huma.Response{"200": {
		Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(a.huma, o, a.log)
}

func (a *api) sandboxStatus(ctx context.Context) (SandboxStatus, error) {
	s, err := a.Sandbox.Status(ctx)
	if err != nil {
		return s, ofModel(err)
	}
	s.Components, s.Clusters, s.Servers, s.Snapshots = orEmpty(s.Components), orEmpty(s.Clusters), orEmpty(s.Servers), orEmpty(s.Snapshots)
	for i := range s.Components {
		s.Components[i].Reason = text(s.Components[i].Reason)
	}
	return s, nil
}

func components(s SandboxStatus) []string {
	return namesOf(s.Components, func(c SandboxComponent) string { return c.Name })
}

func clustersOf(s SandboxStatus) []string {
	return namesOf(s.Clusters, func(c SandboxCluster) string { return c.Name })
}

func serversOf(s SandboxStatus) []string {
	return namesOf(s.Servers, func(c SandboxServer) string { return c.Name })
}

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

// onSandbox is a handler that does something with what is named.
func (a *api) onSandbox(what string, names func(SandboxStatus) []string, do func(context.Context, string) error) func(context.Context, *NameInput) error {
	return func(ctx context.Context, input *NameInput) error {
		if err := a.inSandbox(ctx, what, input.Name, names); err != nil {
			return err
		}
		if err := do(ctx, input.Name); err != nil {
			return ofModel(err)
		}
		return nil
	}
}

// inSandbox is nil for a name that the sandbox has.
func (a *api) inSandbox(ctx context.Context, what, name string, names func(SandboxStatus) []string) error {
	s, err := a.sandboxStatus(ctx)
	if err != nil {
		return err
	}
	known := names(s)
	for _, one := range known {
		if one == name {
			return nil
		}
	}
	return notFound("path.name", what, name, known)
}

func (a *api) credentials(ctx context.Context, input *NameInput) (SandboxCredentials, error) {
	if err := a.inSandbox(ctx, "server", input.Name, serversOf); err != nil {
		return SandboxCredentials{}, err
	}
	c, err := a.Sandbox.Credentials(ctx, input.Name)
	if err != nil {
		return SandboxCredentials{}, ofModel(err)
	}
	return c, nil
}

func (a *api) log(ctx context.Context, input *LogInput) (*huma.StreamResponse, error) {
	if err := a.inSandbox(ctx, "component", input.Name, components); err != nil {
		return nil, failed(ctx, err)
	}
	log, err := a.Sandbox.Log(ctx, input.Name, input.Follow)
	if err != nil {
		return nil, failed(ctx, ofModel(err))
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		defer func() { _ = log.Close() }() // it was only read
		c.SetHeader("Content-Type", "text/plain; charset=utf-8")
		c.SetStatus(http.StatusOK)
		_, rw := humago.Unwrap(c)
		control := http.NewResponseController(rw)
		buffer := make([]byte, 32<<10)
		for {
			n, err := log.Read(buffer)
			if n > 0 {
				_ = control.SetWriteDeadline(time.Now().Add(streamTimeout)) // what has no connection has no deadline
				if _, err := rw.Write(buffer[:n]); err != nil || control.Flush() != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}}, nil
}
