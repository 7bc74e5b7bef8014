//go:build !linux

package daemon

import "errors"

// Resident is not known here.
func Resident(int) int64 { return 0 }

func residentAlone(int) int64 { return 0 }

func canDropRights() error { return errors.New("only Linux has mount namespaces") }
