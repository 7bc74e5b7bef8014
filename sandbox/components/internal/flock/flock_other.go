//go:build !unix

package flock

import (
	"errors"
	"os"
)

func try(*os.File) (bool, error) { return false, errors.ErrUnsupported }
