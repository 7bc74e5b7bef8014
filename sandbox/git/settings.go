package git

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// ensureSettings gives the workflows of all repositories their secrets and
// variables. Secrets cannot be read, so they are written at each start; a
// variable that is there belongs to the people, who may have changed it.
func (g Gitea) ensureSettings(ctx context.Context, c *gitea.Client, s Setup) error {
	token, err := os.ReadFile(g.TokenFile(RobotToken))
	if err != nil {
		return err
	}
	for _, name := range s.Secrets {
		_, err := c.CreateOrgActionSecret(s.Organisation, name, gitea.CreateOrUpdateSecretOption{Data: strings.TrimSpace(string(token))})
		if err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Variables)) {
		_, response, err := c.GetOrgActionVariable(s.Organisation, name)
		if err == nil {
			continue
		}
		if response == nil || response.StatusCode != http.StatusNotFound {
			return fmt.Errorf("variable %s: %w", name, err)
		}
		_, err = c.CreateOrgActionVariable(s.Organisation, name, gitea.CreateActionVariableOption{
			Value:       s.Variables[name],
			Description: "The environment that follows one, for promotions",
		})
		if err != nil {
			return fmt.Errorf("variable %s: %w", name, err)
		}
	}
	return nil
}
