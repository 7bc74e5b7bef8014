package sandbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/arc"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	// ArmResourceGroup and armLocation are where the emulated Azure has the
	// sandbox's clusters.
	ArmResourceGroup = "kalypso-rg"
	armLocation      = "eastus"

	armDeadline = 15 * time.Second
)

// ArmEndpoint tells where the sandbox's emulated Azure Resource Manager is, and
// what it takes to ask it. Whether it runs shows with the first call.
func ArmEndpoint(h Home) (url, token, subscription, tenant string, err error) {
	s, err := h.LoadState()
	if err != nil {
		return "", "", "", "", err
	}
	if s.Ports["arm"] == 0 {
		return "", "", "", "", errNoArm
	}
	return "http://" + s.address("arm"), s.armToken(), s.guid("subscription"), s.guid("tenant"), nil
}

var errNoArm = errors.New("this sandbox was made without the emulated Azure: make a new one with `kalypso down --delete` and `kalypso up`")

// armToken is a secret of the sandbox's own, made of one that it keeps.
func (s *State) armToken() string { return s.derived("arm-token") }

// guid is an ID as Azure's are, the same for as long as the sandbox is.
func (s *State) guid(what string) string {
	h := s.derived(what)
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

func (s *State) derived(what string) string {
	mac := hmac.New(sha256.New, []byte(s.WebhookSecret))
	mac.Write([]byte("kalypso/" + what))
	return hex.EncodeToString(mac.Sum(nil))
}

// armUnit serves the emulated Azure. It needs nothing: a cluster that is not
// up yet is shown as offline.
func (w *world) armUnit(needs ...string) supervisor.Unit {
	handler := arc.New(arc.Options{
		Subscription:  w.state.guid("subscription"),
		Tenant:        w.state.guid("tenant"),
		ResourceGroup: ArmResourceGroup,
		Location:      armLocation,
		Token:         w.state.armToken(),
		Clusters:      arcClusters{w},
		Dir:           w.home.Path("arc"),
		Log:           w.log,
	})
	return supervisor.Unit{
		Name: "arm", Title: "emulated Azure Resource Manager", Needs: needs, Deadline: armDeadline,
		Component: &served{address: w.state.address("arm"), handler: handler, log: w.log},
	}
}

// arcClusters are the clusters that the emulated Azure manages: those with
// Flux. A cluster with Argo CD is not connected to it in the tutorials either.
type arcClusters struct{ w *world }

func (c arcClusters) Names() []string {
	var names []string
	for _, one := range c.w.workshop.clusters {
		if one.reconciler == flux {
			names = append(names, one.name)
		}
	}
	return names
}

func (c arcClusters) Client(name string) (*cluster.Client, error) {
	away, err := c.w.home.away()
	if err != nil {
		return nil, err
	}
	if slices.Contains(away, name) {
		return nil, arc.ErrStopped
	}
	client, err := c.w.client(name)
	if err != nil {
		// its kubeconfig is not there before its first start
		return nil, fmt.Errorf("%w: %w", arc.ErrStopped, err)
	}
	return client, nil
}

// served is a supervisor.Component that serves a handler on a loopback port.
type served struct {
	address string
	handler http.Handler
	log     *slog.Logger

	server *http.Server
	ended  chan struct{}
}

// Init does nothing.
func (c *served) Init(context.Context) error { return nil }

// Start listens.
func (c *served) Start(context.Context) error {
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	c.server = &http.Server{
		Handler: c.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.log.Error("server ended", "address", c.address, "reason", err)
		}
	}()
	return nil
}

// Ready returns nil: a listener takes connections as soon as it is there.
func (c *served) Ready(context.Context) error { return nil }

// Exited is closed when the listener has ended.
func (c *served) Exited() <-chan struct{} { return c.ended }

// Stop closes the listener and waits for requests under way.
func (c *served) Stop(ctx context.Context) error {
	if c.server == nil {
		return nil
	}
	return c.server.Shutdown(ctx)
}
