//go:build !payload

package components

import "io/fs"

func embedded() (fs.FS, error) { return nil, ErrNoPayload }
