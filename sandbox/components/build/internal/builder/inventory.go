package builder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// An Inventory is what a kalypso is made of, for those that publish it: its bill
// of materials and the licences are made of it.
type Inventory struct {
	// Components are those of the payload; none in a kalypso without the sandbox.
	Components []components.Component `json:"components"`
	// Licenses are of every module and package in kalypso and in the components.
	Licenses []components.License `json:"licenses"`
}

// writeInventory writes what the payload folder holds.
func (b Builder) writeInventory(path string) error {
	payload, err := components.Open(os.DirFS(b.payload()))
	if err != nil {
		return err
	}
	inventory := Inventory{Components: payload.Manifest().Components}
	for _, name := range append([]string{components.Self}, payload.Manifest().Names()...) {
		some, err := payload.Licenses(name)
		if err != nil {
			return err
		}
		inventory.Licenses = append(inventory.Licenses, some...)
	}
	return inventory.write(path)
}

func (i Inventory) write(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return json.NewEncoder(file).Encode(i)
}
