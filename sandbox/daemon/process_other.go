//go:build !linux

package daemon

// Resident is not known here.
func Resident(int) int64 { return 0 }

func residentAlone(int) int64 { return 0 }
