//go:build !linux

package daemon

import "errors"

func canDropRights() error { return errors.New("only Linux has mount namespaces") }
