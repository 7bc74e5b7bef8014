package main

import (
	"fmt"
	"net"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
	"github.com/vishvananda/netlink"
)

// link is the interface that has the node's address. Nothing is plugged into
// it: the node has no way out but the forwards.
const link = "node0"

func makeNetwork(s spec.Spec) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	node := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: link}}
	if err := netlink.LinkAdd(node); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	address, err := netlink.ParseAddr(s.Address)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(node, address); err != nil {
		return fmt.Errorf("address %s: %w", s.Address, err)
	}
	if err := netlink.LinkSetUp(node); err != nil {
		return err
	}
	_, services, err := net.ParseCIDR(s.Services)
	if err != nil {
		return err
	}
	// a call of a Service needs a route before the rules that rewrite it apply
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: node.Attrs().Index, Dst: services}); err != nil {
		return fmt.Errorf("route to %s: %w", s.Services, err)
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
