package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// TokenVariable has the token that is sent to the hub which --hub names.
const TokenVariable = "KALYPSO_HUB_TOKEN"

// ClientHelp says, in the help of commands with a Client, which hub is asked.
const ClientHelp = `The hub is that of the running sandbox, or the one that --hub names. That one is sent
the token of ` + TokenVariable + `, which "kalypso hub token create" makes.`

// ClientFlags say which hub a command asks.
type ClientFlags struct{ url string }

// Register adds the flags to a command.
func (f *ClientFlags) Register(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "hub", "", "`URL` of the hub to ask (default the running sandbox's)")
}

const (
	// answerLimit is how long a hub may take for an answer.
	answerLimit = 30 * time.Second
	// answerSize is more than a hub sends at once, in bytes.
	answerSize = 8 << 20
	// sessionTime is how long the session of a command is valid: there is no need to end it.
	sessionTime = time.Minute
)

// Client asks a hub as somebody who may read it.
type Client struct {
	address string // without a slash at the end
	token   string
	cookie  *http.Cookie
}

// Client signs in to the hub that the flags name, or to the sandbox's as its owner.
func (f *ClientFlags) Client(ctx context.Context, a *cmdutil.App) (*Client, error) {
	if f.url != "" {
		u, err := url.Parse(f.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return nil, usage.Errorf("--hub %q: give an http or https URL, without credentials", f.url)
		}
		token := strings.TrimSpace(os.Getenv(TokenVariable))
		if token == "" {
			return nil, &source.Error{
				Message: TokenVariable + " is empty, and the hub at " + f.url + " wants a token", Err: source.ErrCredentials,
				Hint: "`kalypso hub token create NAME`, on the hub's machine, makes one",
			}
		}
		return &Client{address: strings.TrimSuffix(f.url, "/"), token: token}, nil
	}
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	page, err := sandbox.FindWebPage(ctx, home, sandbox.HubPage, "")
	if err == nil && !page.Running {
		err = sandbox.ErrDown
	}
	if err != nil {
		return nil, cmdutil.Classify(err, &source.Error{Hint: "run `kalypso up`, whose sandbox has a hub, or name another with --hub URL"})
	}
	c := &Client{address: strings.TrimSuffix(page.URL, "/")}
	return c, c.enter(ctx, home)
}

// enter gets a session of the sandbox's owner.
func (c *Client) enter(ctx context.Context, home sandbox.Home) error {
	s, err := openSandbox(ctx, home)
	if err != nil {
		return err
	}
	defer s.Close()
	ticket, err := s.CreateTicket(ctx, store.Identity{Subject: "owner", Role: "owner", Expires: time.Now().Add(sessionTime)}, sessionTime)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"ticket": ticket})
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, http.MethodPost, "/enter", body)
	if err != nil {
		return err
	}
	answer.Body.Close()
	for _, cookie := range answer.Cookies() {
		c.cookie = cookie
	}
	return nil
}

// Get reads what the API has at a path below /api/v1.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("no answer within %s", answerLimit))
	defer cancel()
	address := "/api/v1" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	answer, err := c.do(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, answerSize)).Decode(into); err != nil {
		return fmt.Errorf("the answer of the hub at %s: %w", c.address, err)
	}
	return nil
}

// do sends a request, and makes an error of every answer that is none.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.cookie != nil {
		r.AddCookie(c.cookie)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, cmdutil.Classify(fmt.Errorf("the hub at %s: %w", c.address, err), &source.Error{Hint: "does it run there? A sandbox's is started by `kalypso up`"})
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerSize))
	var problem struct{ Detail, Hint string }
	if err != nil || json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Detail = "http status " + answer.Status
	}
	known := &source.Error{Message: fmt.Sprintf("the hub at %s: %s", c.address, problem.Detail), Hint: problem.Hint, Unknown: answer.StatusCode == http.StatusUnprocessableEntity}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		known.Err = source.ErrCredentials
	}
	return nil, known
}
