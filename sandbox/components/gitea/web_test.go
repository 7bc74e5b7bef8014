package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	forge := guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		name, method, host string
		header             map[string]string
		code               int
	}{
		{name: "localhost", host: "localhost:3000", code: http.StatusOK},
		{name: "loopback", host: "127.0.0.1:3000", code: http.StatusOK},
		{name: "IPv6", host: "[::1]", code: http.StatusOK},
		{name: "a name that leads to loopback", host: "evil.example:3000", code: http.StatusMisdirectedRequest},
		{name: "a pod", host: "10.245.250.1:3000", code: http.StatusOK},
		{name: "git", method: http.MethodPost, host: "localhost:3000", code: http.StatusOK},
		{name: "a form of its own", method: http.MethodPost, host: "localhost:3000",
			header: map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-origin"}, code: http.StatusOK},
		{name: "a form elsewhere", method: http.MethodPost, host: "localhost:3000",
			header: map[string]string{"Origin": "https://evil.example"}, code: http.StatusForbidden},
		{name: "a form on another port", method: http.MethodPost, host: "localhost:3000",
			header: map[string]string{"Origin": "http://localhost:4000", "Sec-Fetch-Site": "same-site"}, code: http.StatusForbidden},
		{name: "a link elsewhere", method: http.MethodGet, host: "localhost:3000",
			header: map[string]string{"Sec-Fetch-Site": "cross-site"}, code: http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "/", nil)
			r.Host = c.host
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			forge.ServeHTTP(w, r)
			if w.Code != c.code {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		})
	}
}
