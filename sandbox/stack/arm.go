package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/arc"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
	"github.com/kalypso-dev/kalypso/workshop"
)

const (
	armLocation = "eastus"
	armDeadline = 15 * time.Second
)

// armUnit serves the emulated Azure. It needs nothing: a cluster that is not
// up yet is shown as offline.
func (st *Stack) armUnit(needs ...string) supervisor.Unit {
	handler := arc.New(arc.Options{
		Subscription:  st.state.GUID("subscription"),
		Tenant:        st.state.GUID("tenant"),
		ResourceGroup: state.ArmResourceGroup,
		Location:      armLocation,
		Token:         st.state.ArmToken(),
		Clusters:      arcClusters{st},
		Virtual:       st.virtual,
		Dir:           st.home.Path("arc"),
		Log:           st.log,
	})
	// what Azure does not have of the virtual clusters and the hosts, for `kalypso ci`
	mux := http.NewServeMux()
	mux.Handle(state.FleetPath, endpoint.Handler(fleet.Observers{st.virtual, st.hosts}, st.state.ArmToken()))
	mux.Handle("/", handler)
	return supervisor.Unit{
		Name: "arm", Title: "emulated Azure Resource Manager", Needs: needs, Deadline: armDeadline,
		Component: serve(st.state.Address("arm"), mux),
	}
}

// arcClusters are the clusters that the emulated Azure manages: those with
// Flux. A cluster with Argo CD is not connected to it in the tutorials either.
type arcClusters struct{ st *Stack }

func (c arcClusters) Names() []string {
	var names []string
	for _, one := range c.st.state.Clusters() {
		if one.Reconciler == workshop.Flux {
			names = append(names, one.Name)
		}
	}
	return names
}

func (c arcClusters) Client(name string) (*cluster.Client, error) {
	stopped, err := c.st.home.StoppedClusters()
	if err != nil {
		return nil, err
	}
	if slices.Contains(stopped, name) {
		return nil, arc.ErrStopped
	}
	client, err := c.st.client(name)
	if err != nil {
		// its kubeconfig is not there before its first start
		return nil, fmt.Errorf("%w: %w", arc.ErrStopped, err)
	}
	return client, nil
}

// serve is a component that serves a handler on a loopback port. Its end waits
// for requests under way.
func serve(address string, handler http.Handler) *supervisor.Background {
	return &supervisor.Background{Run: func(ctx context.Context, _ func(string), ready func()) error {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{
			Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		}
		answered := make(chan struct{})
		context.AfterFunc(ctx, func() {
			defer close(answered)
			_ = server.Shutdown(context.Background())
		})
		ready()
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		<-answered
		return ctx.Err()
	}}
}
