package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is for nobody, and what comes from elsewhere, does not reach the API
// server; all else does, as it came.
func TestFront(t *testing.T) {
	var f front
	inside := f.newInside()
	api := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.Host+r.URL.RequestURI())
	})}
	go func() { _ = api.Serve(inside) }()
	defer api.Close()
	outside := httptest.NewServer(f.handler())
	defer outside.Close()
	address := strings.TrimPrefix(outside.URL, "http://")
	_, port, _ := strings.Cut(address, ":")

	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		code                     int
	}{
		{name: "a page", path: "/applications?x=%2F", code: http.StatusOK},
		{name: "localhost", path: "/", host: "localhost:" + port, code: http.StatusOK},
		{name: "localhost through a tunnel", path: "/", host: "LOCALHOST:1", code: http.StatusOK},
		{name: "IPv6", path: "/", host: "[::1]:1", code: http.StatusOK},
		{name: "a name that leads to loopback", path: "/", host: "evil.example:" + port, code: http.StatusMisdirectedRequest},
		{name: "a name that looks like it", path: "/", host: "localhost.evil.example", code: http.StatusMisdirectedRequest},
		{name: "an address", path: "/", host: "192.0.2.1", code: http.StatusOK},
		{name: "nothing", path: "/", host: ":80", code: http.StatusMisdirectedRequest},
		{name: "a change by the command line", method: http.MethodPost, path: "/api/v1/session", code: http.StatusOK},
		{name: "a change by a page of its own", method: http.MethodPost, path: "/api/v1/session",
			header: map[string]string{"Origin": outside.URL, "Sec-Fetch-Site": "same-origin"}, code: http.StatusOK},
		{name: "a change by another page", method: http.MethodPost, path: "/api/v1/session",
			header: map[string]string{"Origin": "https://evil.example"}, code: http.StatusForbidden},
		{name: "a change by another page of this machine", method: http.MethodDelete, path: "/api/v1/applications/dev",
			header: map[string]string{"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"}, code: http.StatusForbidden},
		{name: "a webhook", method: http.MethodPost, path: "/api/webhook", code: http.StatusForbidden},
		{name: "a webhook, spelled", method: http.MethodPost, path: "/api/%77ebhook", code: http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequest(c.method, outside.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != c.code {
				t.Fatalf("%s: %v, %s", answer.Status, err, body)
			}
			host := c.host
			if host == "" {
				host = address
			}
			if want := r.Method + " " + host + c.path; c.code == http.StatusOK && string(body) != want {
				t.Errorf("the API server sees %q, not %q", body, want)
			}
		})
	}
}

// The script that upstream reads from a folder of everybody's is empty.
func TestFrontHasNoExtensions(t *testing.T) {
	var f front
	w := httptest.NewRecorder()
	f.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/extensions.js", nil))
	if w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
