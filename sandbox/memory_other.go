//go:build !linux

package sandbox

// resident is not known here.
func resident(int) int64 { return 0 }

func residentAlone(int) int64 { return 0 }
