//go:build !linux

package components

// Release does nothing here.
func Release() {}
