package node

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

const dnsLimit = 3 * time.Second

// Dial connects to an address as the node sees it: a pod, a Service, itself.
// The other side must not speak first.
func (n Node) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", n.egress())
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintf(c, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		c.Close()
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s cannot be reached in the node: %s", address, answer.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	_ = c.SetDeadline(time.Time{})
	return c, nil
}

// checkDNS asks the node's DNS server for the one name that every cluster has.
func (n Node) checkDNS(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dnsLimit)
	defer cancel()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := n.Dial(ctx, onNode(53))
		// hidden behind an interface: a unix socket can also carry packets, and
		// then the resolver would send one
		return struct{ net.Conn }{c}, err
	}}
	if _, err := r.LookupHost(ctx, "kubernetes.default.svc.cluster.local."); err != nil {
		return fmt.Errorf("DNS of the node: %w", err)
	}
	return nil
}
