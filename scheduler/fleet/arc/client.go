// Package arc is a client of Azure Resource Manager for what kalypso asks of a
// fleet of clusters: Azure Arc's connected clusters, their GitOps
// configurations, and the Resource Graph that finds configurations across
// subscriptions. One client serves Azure and the sandbox's emulation of it.
//
// [Settings] finds out which, from flags and variables:
//
//	client, err := arc.ReadSettings(os.Getenv).Connect()
//
// and New makes a client of what a program knows itself:
//
//	client, err := arc.New(credential, "SUBSCRIPTION", nil)           // Azure
//	client, err := arc.New(arc.Token(t), "SUBSCRIPTION", arc.At(url)) // the emulation
//
// The two do not mix: a [Token] is not sent to Azure, and a credential of
// Azure's not over plain http.
//
// Every call of the client may be repeated without harm, and it repeats them
// itself where an answer is missing or Azure is busy; see patience. An error
// says what to do about it. Those of the service are an [*Error]; [IsNotFound]
// and [IsDenied] sort out the two that callers branch on. No error is ever an
// empty answer: not knowing a fleet is not a fleet without clusters.
package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	module = "kalypso/fleet/arc"
	// moduleVersion is what azcore's telemetry wants to be told.
	moduleVersion = "v0.1.0"

	configurationVersion = "2025-04-01"
	connectedVersion     = "2024-01-01"
	managedVersion       = "2024-09-01"
	resourcesVersion     = "2021-04-01"
	graphVersion         = "2024-04-01"
	subscriptionVersion  = "2022-12-01"
)

// Options say where a client works, and how. The zero value is Azure's public
// cloud.
type Options struct {
	Cloud Cloud
	// Also are further subscriptions that the fleet is in. They are observed;
	// everything else is about the client's own.
	Also []string
	// Waiting hears of every wait that a person would notice; it must not block.
	Waiting func(Wait)
	// Transport takes the place of the network, in tests.
	Transport policy.Transporter
	// OperationLimit is how long a write may take until it is on its cluster,
	// half an hour when it is zero.
	OperationLimit time.Duration
	// Pace is how often a write is looked at when Azure does not say, every five
	// seconds when it is zero.
	Pace time.Duration
}

// Client works on one subscription. It may be used by several at once.
type Client struct {
	arm            *arm.Client
	cloud          Cloud
	account        *account
	subscription   string
	fleet          []string // all subscriptions that are observed
	seen           *visibility
	patience       *patience
	tell           func(Wait)
	operationLimit time.Duration
	pace           time.Duration
}

// New makes a client; nil options mean Azure's public cloud.
func New(credential azcore.TokenCredential, subscription string, o *Options) (*Client, error) {
	if subscription == "" {
		return nil, errors.New("no Azure subscription")
	}
	if o == nil {
		o = &Options{}
	}
	where, err := o.Cloud.known()
	if err != nil {
		return nil, err
	}
	if err := where.mayHave(credential); err != nil {
		return nil, err
	}
	c := &Client{
		cloud: where, account: &account{next: credential, cloud: where}, subscription: subscription, fleet: distinct(subscription, o.Also),
		seen: &visibility{}, tell: o.Waiting, operationLimit: cmp.Or(o.OperationLimit, operationLimit), pace: cmp.Or(o.Pace, pollEvery),
	}
	if c.tell == nil {
		c.tell = func(Wait) {}
	}
	if c.arm, err = arm.NewClient(module, moduleVersion, c.account, c.options(o.Transport)); err != nil {
		return nil, fmt.Errorf("client of Azure Resource Manager: %w", err)
	}
	return c, nil
}

// options are what azcore is told: it sends, and patience decides when and how
// often. It registers nothing on anybody's subscription.
func (c *Client) options(transport policy.Transporter) *arm.ClientOptions {
	o := &arm.ClientOptions{DisableRPRegistration: true}
	o.Cloud = c.cloud.configuration
	o.Retry.MaxRetries = -1
	o.Transport = transport
	c.patience = newPatience(c.cloud, c.tell)
	if c.cloud.loopback() {
		o.InsecureAllowCredentialWithHTTP = true
		c.patience.first = loopbackPause
		if transport == nil {
			// whatever proxy the environment names, it is not between us
			o.Transport = &http.Client{Transport: &http.Transport{}}
		}
	}
	o.PerCallPolicies = []policy.Policy{c.patience}
	return o
}

// distinct are subscriptions, each once: IDs have no case.
func distinct(first string, others []string) []string {
	all := []string{first}
	for _, s := range others {
		if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, s) }) {
			all = append(all, s)
		}
	}
	return all
}

// Subscription is the one that the client works on.
func (c *Client) Subscription() string { return c.subscription }

// Cloud is where the client works.
func (c *Client) Cloud() Cloud { return c.cloud }

// Account is who is logged in, "" as long as nothing was asked.
func (c *Client) Account() string { return c.account.String() }

// request makes a request to a path of the endpoint, with a body unless that is
// nil.
func (c *Client) request(ctx context.Context, method, path, version string, body any) (*policy.Request, error) {
	r, err := runtime.NewRequest(ctx, method, runtime.JoinPaths(c.arm.Endpoint(), path))
	if err != nil {
		return nil, err
	}
	r.Raw().URL.RawQuery = url.Values{"api-version": {version}}.Encode()
	r.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		err = runtime.MarshalAsJSON(r, body)
	}
	return r, err
}

// send sends a request and returns the answer if it is one of the expected.
func (c *Client) send(r *policy.Request, expected ...int) (*http.Response, error) {
	response, err := c.arm.Pipeline().Do(r)
	if err == nil && !runtime.HasStatusCode(response, expected...) {
		err = runtime.NewResponseError(response)
	}
	return response, c.failure(err)
}

// call sends a request and reads the answer into out.
func (c *Client) call(r *policy.Request, out any) error {
	response, err := c.send(r, http.StatusOK)
	if err != nil {
		return err
	}
	if err := runtime.UnmarshalAsJSON(response, out); err != nil {
		return &NotJSONError{Host: r.Raw().URL.Host, Type: response.Header.Get("Content-Type"), Err: err}
	}
	return nil
}

// get reads what is at a path.
func (c *Client) get(ctx context.Context, path, version string, out any) error {
	r, err := c.request(ctx, http.MethodGet, path, version, nil)
	if err != nil {
		return err
	}
	return c.call(r, out)
}

// own is a cluster in the client's subscription.
func (c *Client) own(cluster Cluster) Cluster {
	cluster.Subscription = c.subscription
	return cluster
}
