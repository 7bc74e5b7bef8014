package gitclient

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Hosts are the servers that a Client may ask. What is not among them is refused
// before there is a connection, also where another server redirects to it: the
// network of the machine, its own services and a cloud's metadata are nobody's to
// look at who can write a URL into a platform model. A host without a port stands
// for its ports 80 and 443 alone. The names of the loopback interface are one.
type Hosts struct {
	mu      sync.RWMutex
	allowed map[string]bool
}

// NewHosts returns a list of hosts, see [Hosts.Allow].
func NewHosts(names ...string) (*Hosts, error) {
	h := &Hosts{allowed: map[string]bool{}}
	for _, name := range names {
		if err := h.Allow(name); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Allow adds a host, as in git.example.com or git.example.com:8443, or that of an
// http URL.
func (h *Hosts) Allow(name string) error {
	given := name
	if !strings.Contains(name, "://") {
		given = "//" + name
	}
	u, err := url.Parse(given)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "*/ ") || given[:2] == "//" && u.Host != name {
		return fmt.Errorf("%q is no host: write git.example.com, or git.example.com:8443 for a port of its own", name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	host, port := hostAndPort(u)
	if port == "80" || port == "443" {
		port = ""
	}
	if port != "" {
		h.allowed[net.JoinHostPort(host, port)] = true
		return nil
	}
	h.allowed[net.JoinHostPort(host, "80")], h.allowed[net.JoinHostPort(host, "443")] = true, true
	return nil
}

// check returns a [model.HostError] for a URL on none of the hosts. Nil allows all.
func (h *Hosts) check(u *url.URL) error {
	if h == nil {
		return nil
	}
	host, port := hostAndPort(u)
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.allowed[net.JoinHostPort(host, port)] {
		return nil
	}
	return &model.HostError{Host: strings.ToLower(u.Host)}
}

// hostAndPort are the same for all spellings of a server, the port "" where the
// scheme does not say it either.
func hostAndPort(u *url.URL) (host, port string) {
	host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	if port = u.Port(); port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.TrimPrefix(host, "www."), port
}

// onHosts lets requests through to some hosts only, redirected ones too.
type onHosts struct {
	client *Client
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (o onHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := o.client.Hosts.check(r.URL); err != nil {
		return nil, err
	}
	return o.next.RoundTrip(r)
}
