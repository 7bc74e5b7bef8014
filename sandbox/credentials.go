package sandbox

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kalypso-dev/kalypso/sandbox/git"
)

// Credentials let a person and a script into the forge.
type Credentials struct {
	URL      string `json:"url"`
	OrgURL   string `json:"orgURL"`
	User     string `json:"user"`
	Password string `json:"password"`
	Token    string `json:"token"` // "" until the forge has been up once
}

// GetCredentials reads them from the sandbox's home.
func GetCredentials(h Home) (*Credentials, error) {
	s, err := h.LoadState()
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(git.Gitea{Dir: h.Path("gitea")}.TokenFile(git.AdminToken))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Credentials{
		URL: s.ForgeURL(), OrgURL: s.OrgURL(),
		User: s.Admin.User, Password: s.Admin.Password, Token: string(token),
	}, nil
}
