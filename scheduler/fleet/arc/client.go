// Package arc is a client of Azure Resource Manager for what kalypso asks of a
// fleet of clusters: Azure Arc's connected clusters, their GitOps
// configurations, and the Resource Graph that finds configurations across
// subscriptions. One client serves Azure and the sandbox's emulator.
//
// [Settings] say which of them, from flags and variables:
//
//	client, err := arc.ReadSettings(os.Getenv).Connect()
//
// The two do not mix: a fixed token is not sent to Azure, and a credential of
// Azure is not sent over plain http.
//
// Every call may be repeated without harm, and azcore's retry policy does so
// where an answer is missing or Azure is busy; see retryPolicy. Errors of the
// service are an [*Error] with a hint; [IsNotFound] and [IsDenied] sort out the
// two that callers branch on. No error is ever an empty answer: not knowing a
// fleet is not a fleet without clusters.
package arc

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/kalypso-dev/kalypso/internal/armapi"
)

const (
	module = "kalypso/fleet/arc"
	// moduleVersion is for azcore's telemetry.
	moduleVersion = "v0.1.0"

	configurationVersion = "2025-04-01"
	connectedVersion     = "2024-01-01"
	managedVersion       = "2024-09-01"
	resourcesVersion     = "2021-04-01"
	graphVersion         = "2024-04-01"
	subscriptionVersion  = "2022-12-01"
)

// Client works on one subscription, and observes clusters in several. It may be
// used concurrently.
type Client struct {
	arm          *arm.Client
	cloud        Cloud
	account      *account
	subscription string
	fleet        []string // all subscriptions that are observed
	report       func(Wait)

	mu      sync.Mutex
	visible map[string]bool // subscriptions that the account can see, in lower case
}

// newClient makes a client of the first of the subscriptions.
func newClient(credential azcore.TokenCredential, where Cloud, subscriptions []string, report func(Wait), transport policy.Transporter) (*Client, error) {
	if err := where.mayHave(credential); err != nil {
		return nil, err
	}
	if report == nil {
		report = func(Wait) {}
	}
	c := &Client{
		cloud: where, account: &account{next: credential, cloud: where}, subscription: subscriptions[0], fleet: subscriptions,
		report: report, visible: map[string]bool{},
	}
	// a client must not change a subscription by registering providers
	o := &arm.ClientOptions{DisableRPRegistration: true}
	o.Cloud = where.configuration
	o.Transport = transport
	retry := newRetryPolicy(where.endpoint, report)
	if where.loopback() {
		o.InsecureAllowCredentialWithHTTP = true
		retry.options.RetryDelay = loopbackDelay
		if transport == nil {
			o.Transport = &http.Client{Transport: &http.Transport{}} // without the environment's proxy
		}
	}
	o.PerCallPolicies, o.PerRetryPolicies = []policy.Policy{retry}, []policy.Policy{brokenAnswers{}}
	var err error
	if c.arm, err = arm.NewClient(module, moduleVersion, c.account, o); err != nil {
		return nil, fmt.Errorf("client of Azure Resource Manager: %w", err)
	}
	return c, nil
}

// Subscription is the one that the client works on.
func (c *Client) Subscription() string { return c.subscription }

// Cloud is where the client works.
func (c *Client) Cloud() Cloud { return c.cloud }

// Account is the account that was used, "" before the first request.
func (c *Client) Account() string { return c.account.String() }

// own is a cluster in the client's subscription.
func (c *Client) own(cluster armapi.Cluster) armapi.Cluster {
	cluster.Subscription = c.subscription
	return cluster
}

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

// send sends a request and returns the answer if it has an expected status.
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
		return notJSON(response, err)
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

// list reads all pages of a list. Part of a list is an error.
func list[T any](ctx context.Context, c *Client, path, version string) ([]T, error) {
	r, err := c.request(ctx, http.MethodGet, path, version, nil)
	if err != nil {
		return nil, err
	}
	all, followed := []T{}, map[string]bool{}
	for {
		var page struct {
			Value    []T     `json:"value"`
			NextLink *string `json:"nextLink"`
		}
		if err := c.call(r, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if page.NextLink == nil || *page.NextLink == "" {
			return all, nil
		}
		if followed[*page.NextLink] {
			return nil, fmt.Errorf("the pages of the list lead in a circle after %d entries", len(all))
		}
		followed[*page.NextLink] = true
		if r, err = runtime.NewRequest(ctx, http.MethodGet, *page.NextLink); err != nil {
			return nil, fmt.Errorf("link to the next page: %w", err)
		}
	}
}
