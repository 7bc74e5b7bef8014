package snapshot

import (
	"errors"
	"os"
)

// There is no sandbox on Windows, and nothing to save.

func cloneContent(in, out *os.File) error { return errors.ErrUnsupported }

func syncFolder(string) error { return errors.ErrUnsupported }
