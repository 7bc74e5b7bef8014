package supervisor

import (
	"errors"
	"os"
	"syscall"
)

// There is no sandbox on Windows, and nothing is supervised.

func childAttributes() *syscall.SysProcAttr { return nil }

func startTime(int) (string, error) { return "", os.ErrProcessDone }

func isStopped(int) (bool, error) { return false, errors.ErrUnsupported }

func parentsOfAll() (map[int]int, error) { return nil, errors.ErrUnsupported }
