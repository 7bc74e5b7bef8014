//go:build !linux

package host

import "github.com/kalypso-dev/kalypso/sandbox/node"

// Supported says that a host needs Linux.
func Supported(string) error {
	return &node.UnsupportedError{Problem: "a host needs Linux", Remedy: "use a Linux machine, or a virtual cluster in its place"}
}
