package arc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// profile is an entry of the list of subscriptions that the Azure CLI keeps
// beside its login. The list holds no secrets.
type profile struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenantId"`
	Cloud   string `json:"environmentName"`
	Default bool   `json:"isDefault"`
}

// cliSubscription is what the Azure CLI knows of a subscription, or with "" of
// its default one in a cloud. It is empty when the CLI knows none.
func cliSubscription(dir, cloud, id string) (profile, error) {
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return profile{}, nil // a machine without a home has no Azure CLI
		}
		dir = filepath.Join(home, ".azure")
	}
	file := filepath.Join(dir, "azureProfile.json")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return profile{}, nil
	}
	if err != nil {
		return profile{}, fmt.Errorf("default subscription of the Azure CLI: %w", err)
	}
	var known struct {
		Subscriptions []profile `json:"subscriptions"`
	}
	// the CLI writes a byte order mark
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &known); err != nil {
		return profile{}, &SetupError{Message: fmt.Sprintf("default subscription of the Azure CLI: %s: %v: set AZURE_SUBSCRIPTION_ID, or log in again with `az login`", file, err)}
	}
	for _, p := range known.Subscriptions {
		if strings.EqualFold(p.Cloud, cloud) && (id == "" && p.Default || id != "" && strings.EqualFold(p.ID, id)) {
			return p, nil
		}
	}
	return profile{}, nil
}
