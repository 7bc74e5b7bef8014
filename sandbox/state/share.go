package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	shareFolder = "share"
	shareFile   = shareFolder + "/share.json"
)

// Share is a second address of the hub, on a network, for those who have its link. It
// is there from `kalypso up --share` to `--share=off`, or to the end of the daemon.
type Share struct {
	Address     string `json:"address"` // host:port
	Token       string `json:"token"`   // the secret in the link
	Fingerprint string `json:"fingerprint"`
}

// Link is what lets a browser in.
func (s *Share) Link() string { return "https://" + s.Address + "/enter#t=" + s.Token }

// ShareCertificate are the files of the certificate and the key, which stay the same from one
// share to the next at the same address.
func (h Home) ShareCertificate() (certificate, key string) {
	return h.Path(shareFolder, "hub.crt"), h.Path(shareFolder, "hub.key")
}

// Share returns the share, nil when the hub is not shared.
func (h Home) Share() (*Share, error) {
	b, err := os.ReadFile(h.Path(shareFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &Share{}
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	if err != nil {
		return nil, fmt.Errorf("the hub's share: %w; `kalypso up --share=off` ends it", err)
	}
	return s, nil
}

// SaveShare notes a share, which the hub has from its next start on.
func (h Home) SaveShare(s *Share) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return WriteFile(h.Path(shareFile), append(b, '\n'))
}

// EndShare forgets the share, and says whether there was one. A hub that runs has it
// until it ends.
func (h Home) EndShare() (was bool, err error) {
	err = os.Remove(h.Path(shareFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
