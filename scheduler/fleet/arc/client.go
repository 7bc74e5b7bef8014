// Package arc is a client of Azure Resource Manager for what kalypso asks of a
// fleet of clusters: Azure Arc's connected clusters, their GitOps
// configurations, and the Resource Graph that finds configurations across a
// subscription. One client serves Azure and the sandbox's emulation of it.
//
// It stands on azcore's pipeline, which retries, waits as long as a throttled
// answer says, and gets its tokens from the credential it is given:
//
//	client, err := arc.New(credential, "SUBSCRIPTION", nil)           // Azure
//	client, err := arc.New(arc.Token(t), "SUBSCRIPTION", arc.At(url)) // the emulation
//
// A credential of azidentity fits, and ClientOptions.Cloud chooses a sovereign
// cloud. Errors of the service are *azcore.ResponseError, with ARM's code and
// status; [IsNotFound] and [IsDenied] sort out the two that callers branch on.
package arc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	module = "kalypso/fleet/arc"
	// moduleVersion is what azcore's telemetry wants to be told.
	moduleVersion = "v0.1.0"

	configurationVersion = "2025-04-01"
	connectedVersion     = "2024-01-01"
	graphVersion         = "2024-04-01"

	pollEvery = 5 * time.Second
	// loopbackRetry is short: what does not answer on this machine is down
	loopbackRetry = 50 * time.Millisecond
)

// Client works on one subscription. It may be used by several at once.
type Client struct {
	arm          *arm.Client
	subscription string
}

// New makes a client; nil options mean Azure's public cloud.
func New(credential azcore.TokenCredential, subscription string, o *arm.ClientOptions) (*Client, error) {
	if subscription == "" {
		return nil, errors.New("no Azure subscription")
	}
	c, err := arm.NewClient(module, moduleVersion, credential, o)
	if err != nil {
		return nil, fmt.Errorf("client of Azure Resource Manager: %w", err)
	}
	return &Client{arm: c, subscription: subscription}, nil
}

// At are the options for an ARM endpoint that is not one of Azure's clouds. The
// token goes over plain http to this machine only.
func At(endpoint string) *arm.ClientOptions {
	endpoint = strings.TrimSuffix(endpoint, "/")
	o := &arm.ClientOptions{DisableRPRegistration: true}
	o.Cloud = cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: endpoint, Audience: endpoint},
	}}
	if u, err := url.Parse(endpoint); err == nil && isLoopback(u.Hostname()) {
		o.InsecureAllowCredentialWithHTTP = true
		// whatever proxy the environment names, it is not between us
		o.Transport = &http.Client{Transport: &http.Transport{}}
		o.Retry = policy.RetryOptions{MaxRetries: 2, RetryDelay: loopbackRetry, MaxRetryDelay: time.Second}
	}
	return o
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Token is a credential that is a bearer token itself.
type Token string

// GetToken returns the token, whatever it is for.
func (t Token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// Subscription is the one that the client works on.
func (c *Client) Subscription() string { return c.subscription }

// IsNotFound tells whether ARM knows no such resource.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsDenied tells whether ARM refused the credential.
func IsDenied(err error) bool {
	return hasStatus(err, http.StatusUnauthorized, http.StatusForbidden)
}

func hasStatus(err error, codes ...int) bool {
	var e *azcore.ResponseError
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.StatusCode == code {
			return true
		}
	}
	return false
}

// Message is an error in one line: ARM's own code and message where there are
// any, since the text of a *azcore.ResponseError is a page.
func Message(err error) string {
	var e *azcore.ResponseError
	if !errors.As(err, &e) {
		return err.Error()
	}
	body, readErr := runtime.Payload(e.RawResponse)
	var envelope struct {
		Error struct{ Code, Message string } `json:"error"`
	}
	if readErr != nil || json.Unmarshal(body, &envelope) != nil || envelope.Error.Message == "" {
		return fmt.Sprintf("%s: Azure Resource Manager answers %d", e.ErrorCode, e.StatusCode)
	}
	return fmt.Sprintf("(%s) %s", envelope.Error.Code, envelope.Error.Message)
}

// request makes a request to a path of the endpoint, with a body unless that is
// nil.
func (c *Client) request(ctx context.Context, method, path, version string, body any) (*policy.Request, error) {
	r, err := runtime.NewRequest(ctx, method, runtime.JoinPaths(c.arm.Endpoint(), path))
	if err != nil {
		return nil, err
	}
	q := r.Raw().URL.Query()
	q.Set("api-version", version)
	r.Raw().URL.RawQuery = q.Encode()
	r.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		err = runtime.MarshalAsJSON(r, body)
	}
	return r, err
}

// call sends a request and reads the answer into out unless that is nil.
func (c *Client) call(r *policy.Request, out any, expected ...int) error {
	response, err := c.arm.Pipeline().Do(r)
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(response, expected...) {
		return runtime.NewResponseError(response)
	}
	if out == nil {
		return nil
	}
	return runtime.UnmarshalAsJSON(response, out)
}
