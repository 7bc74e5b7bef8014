package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// machine is a sandbox: it says what was asked of it by failing with it.
type machine struct{}

func (machine) Status(context.Context) (api.SandboxStatus, error) {
	return api.SandboxStatus{
		Components: []api.SandboxComponent{{Name: "gitea", State: "running", PID: 7, Reason: reason, Since: time.Now()}},
		Clusters:   []api.SandboxCluster{{Name: "drone", State: "ready", Type: "edge", Node: "simulated"}},
		Servers:    []api.SandboxServer{{Name: "forge", URL: "http://localhost:3000", User: "kalypso"}},
		Snapshots:  []api.SandboxSnapshot{{Name: "before", Saved: time.Now(), Bytes: 7, Version: "v1"}},
	}, nil
}

func (machine) Restart(_ context.Context, component string) error {
	return errors.New("restarted " + component)
}
func (machine) StartCluster(_ context.Context, name string) error {
	return errors.New("started " + name)
}
func (machine) StopCluster(_ context.Context, name string) error { return nil }
func (machine) Credentials(_ context.Context, server string) (api.SandboxCredentials, error) {
	return api.SandboxCredentials{User: "kalypso", Password: "of " + server}, nil
}

func (machine) Log(ctx context.Context, component string, follow bool) (io.ReadCloser, error) {
	if !follow {
		return io.NopCloser(strings.NewReader("log of " + component)), nil
	}
	out, in := io.Pipe()
	go func() {
		_, _ = in.Write([]byte("first line\n")) // a reader that is gone ends with ctx
		<-ctx.Done()
		in.CloseWithError(ctx.Err())
	}()
	return out, nil
}

func TestSandbox(t *testing.T) {
	h := newHub(t, func(o *api.Options) { o.Sandbox = machine{} })
	if !get[api.Me](h, "/api/v1/me").Features.Sandbox {
		t.Error("the sandbox is no feature")
	}
	operator := as(h.token("operator", api.Operator, store.Scope{}))
	s := get[api.SandboxStatus](h, "/api/v1/sandbox", operator)
	if len(s.Components) != 1 || len(s.Clusters) != 1 || len(s.Servers) != 1 || len(s.Snapshots) != 1 || s.Snapshots[0].Bytes != 7 || strings.Contains(s.Components[0].Reason, "\x1b") {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		method, path string
		status       int // of the owner
		detail       string
	}{
		{"POST", "components/gitea/restart", 503, "restarted gitea"},
		{"POST", "clusters/drone/start", 503, "started drone"},
		{"POST", "clusters/drone/stop", 204, ""},
		{"GET", "places/forge/credentials", 200, ""},
		{"GET", "logs/gitea", 200, ""},
	} {
		if a := h.do(c.method, "/api/v1/sandbox/"+c.path, "", operator); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s for an operator: %s", c.path, a.Status)
		}
		a := h.do(c.method, "/api/v1/sandbox/"+c.path, "")
		if a.StatusCode != c.status || a.problem().Detail != c.detail {
			t.Errorf("%s: %s: %s", c.path, a.Status, a.body)
		}
		if e := h.audit(1)[0]; !strings.HasPrefix(c.path, "logs") && (e.Actor != "owner" || e.Subject != "/api/v1/sandbox/"+c.path || strings.Contains(e.Detail, "of forge")) {
			t.Errorf("%s: audit %+v", c.path, e)
		}
	}
	if a := h.do(http.MethodGet, "/api/v1/sandbox/logs/gitea", ""); string(a.body) != "log of gitea" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%v: %s", a.Header, a.body)
	}

	// a log that goes on arrives line by line, and ends with its reader
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL+"/api/v1/sandbox/logs/gitea?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	as(h.owner)(r)
	res, err := h.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || line != "first line\n" {
		t.Errorf("%q, %v", line, err)
	}

	fleet := newHub(t)
	if a := fleet.do(http.MethodGet, "/api/v1/sandbox", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("without a sandbox: %s", a.Status)
	}
}
