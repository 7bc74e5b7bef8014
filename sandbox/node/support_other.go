//go:build !linux

package node

// Supported says that a real node needs Linux.
func Supported(string) error {
	return &UnsupportedError{"a real node needs Linux", "use a simulated node"}
}

func proxyMode() string { return "" }

func snapshotter(string) string { return "" }

func unmount(string) error { return nil }
