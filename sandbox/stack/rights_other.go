//go:build !linux

package stack

import "errors"

func canDropRights() error { return errors.New("only Linux has mount namespaces") }
