package controller

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/kubernetes"
)

// DefaultInterval is how often the fleet is asked while a rollout waits for it.
const DefaultInterval = 15 * time.Second

// ObserveConfig is a part of the fleet, which rollouts wait for: one of the three.
type ObserveConfig struct {
	// Kubeconfig is a file with a context for each cluster.
	Kubeconfig string          `yaml:"kubeconfig"`
	Arc        *ArcConfig      `yaml:"arc"`
	Endpoint   *EndpointConfig `yaml:"endpoint"`
	// Interval is how often it is asked while a rollout waits; DefaultInterval when zero.
	Interval time.Duration `yaml:"interval"`
}

// ArcConfig are the subscriptions of Azure whose clusters are observed. The login is that
// of the environment, as for `kalypso ci`.
type ArcConfig struct {
	Subscriptions []string `yaml:"subscriptions"`
	Tenant        string   `yaml:"tenant"`
	Cloud         string   `yaml:"cloud"` // the public one when empty
}

// EndpointConfig is a server that lists clusters, see scheduler/fleet/endpoint.
type EndpointConfig struct {
	URL       string `yaml:"url"`
	TokenFile string `yaml:"tokenFile"`
	TokenEnv  string `yaml:"tokenEnv"`
}

// Open makes the client. It makes no request.
func (a *ArcConfig) Open() (fleet.Reader, error) { return a.client() }

func (a *ArcConfig) client() (fleet.Fleet, error) {
	s := arc.ReadSettings(os.Getenv)
	s.Subscription = strings.Join(a.Subscriptions, ",")
	if a.Tenant != "" {
		s.Tenant = a.Tenant
	}
	if a.Cloud != "" {
		s.Cloud = a.Cloud
	}
	return s.Connect()
}

// Open makes the client, with the token that is there now.
func (e *EndpointConfig) Open() (fleet.Reader, error) { return e.client() }

func (e *EndpointConfig) client() (fleet.Fleet, error) {
	token, err := secret("token of the endpoint", e.TokenFile, e.TokenEnv)
	if err != nil {
		return nil, err
	}
	return endpoint.Client{URL: e.URL, Token: token}, nil
}

func (o ObserveConfig) client() (fleet.Fleet, error) {
	switch {
	case o.Arc != nil:
		return o.Arc.client()
	case o.Endpoint != nil:
		return o.Endpoint.client()
	}
	clusters, err := kubernetes.FromKubeconfig(o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	return clusters, nil
}

// Fleet is all parts of the fleet together, nil without any. What it needs is opened when
// it is asked for the first time; a kubeconfig each time, since clusters come and go.
func (c Config) Fleet() fleet.Reader {
	if len(c.Observe) == 0 {
		return nil
	}
	return &observed{parts: c.Observe, open: make([]fleet.Fleet, len(c.Observe))}
}

type observed struct {
	parts []ObserveConfig

	mu   sync.Mutex
	open []fleet.Fleet // nil for what is not
}

// Inventory implements fleet.Reader.
func (o *observed) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	all, err := o.all()
	if err != nil {
		return fleet.Snapshot{}, err
	}
	return all.Inventory(ctx)
}

func (o *observed) all() (all fleet.Observers, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, part := range o.parts {
		if o.open[i] == nil || part.Kubeconfig != "" {
			if o.open[i], err = part.client(); err != nil {
				return nil, err
			}
		}
		all = append(all, o.open[i])
	}
	return all, nil
}

// interval is how often the fleet is asked: as often as the part that is asked most.
func (c Config) interval() time.Duration {
	least := time.Duration(0)
	for _, o := range c.Observe {
		if o.Interval > 0 && (least == 0 || o.Interval < least) {
			least = o.Interval
		}
	}
	if least == 0 {
		return DefaultInterval
	}
	return least
}

func (o ObserveConfig) validate(check *checker, i int) {
	at := []string{"observe", strconv.Itoa(i)}
	ways := 0
	for _, given := range []bool{o.Kubeconfig != "", o.Arc != nil, o.Endpoint != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		check.Add("a part of the fleet is one of kubeconfig, arc and endpoint", at...)
	case o.Arc != nil && len(o.Arc.Subscriptions) == 0:
		check.Add("arc needs subscriptions", append(at, "arc")...)
	case o.Endpoint != nil && o.Endpoint.URL == "", o.Endpoint != nil && (o.Endpoint.TokenFile == "") == (o.Endpoint.TokenEnv == ""):
		check.Add("endpoint needs url, and either tokenFile or tokenEnv", append(at, "endpoint")...)
	}
	if o.Endpoint != nil {
		if mistake := addressMistake(o.Endpoint.URL); mistake != "" {
			check.Add("endpoint.url "+mistake, append(at, "endpoint", "url")...)
		}
	}
	if o.Interval < 0 || o.Interval > 0 && o.Interval < time.Second {
		check.Add(fmt.Sprintf("interval %s is too short: a second is the least", o.Interval), append(at, "interval")...)
	}
}
