//go:build !linux

package doctor

import (
	"context"
	"errors"
)

// Only Linux has user namespaces, and only there this is asked.

func usable(string) error { return errors.ErrUnsupported }

func userNamespace(context.Context) error { return errors.ErrUnsupported }
