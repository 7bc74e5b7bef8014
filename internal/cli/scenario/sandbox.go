package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
)

// ProgressFile is the file with the progress of learning, of a terminal and of the hub.
func ProgressFile(home sandbox.Home) string { return home.Path(folder, "progress.json") }

// AccessTo is the access that a user has to a sandbox that is up, and its scenarios.
func AccessTo(ctx context.Context, home sandbox.Home) (a engine.Access, library scenarios.Library, err error) {
	status, err := sandbox.GetStatus(ctx, home)
	if err != nil {
		return a, library, err
	}
	if !status.Running {
		return a, library, errors.New("the sandbox is not up: run `kalypso up`")
	}
	if !status.Ready {
		var missing []string
		for _, c := range status.Components {
			if c.State != supervisor.Ready {
				missing = append(missing, fmt.Sprintf("%s is %s", c.Name, c.State))
			}
		}
		return a, library, fmt.Errorf("the sandbox is not ready (%s): run `kalypso up`", strings.Join(missing, ", "))
	}
	credentials, err := sandbox.GetCredentials(home)
	if err != nil {
		return a, library, err
	}
	secrets, err := secretsOf(home)
	if err != nil {
		return a, library, err
	}
	state, err := home.Load()
	if err != nil {
		return a, library, err
	}
	if library, err = scenarios.Of(state.Spec()); err != nil {
		return a, library, err
	}
	self, err := os.Executable()
	if err != nil {
		return a, library, err
	}
	return engine.Access{
		ForgeURL:     credentials.URL,
		Organisation: sandbox.Organisation,
		User:         credentials.User,
		Token:        credentials.Token,
		Kubeconfig:   home.Kubeconfig(),
		Kubectl: engine.Program{
			Path: filepath.Join(components.Path(home.Components(), "kube"), "kube"),
			Name: "kubectl",
		},
		Kalypso:   engine.Program{Path: self},
		Home:      string(home),
		Simulated: simulatedClusters(status),
		Secrets:   secrets,
	}, library, nil
}

// simulatedClusters are those whose pods do not really run, with the reason.
func simulatedClusters(status *sandbox.Status) map[string]string {
	all := map[string]string{}
	for _, c := range status.Components {
		cluster, isNode := strings.CutPrefix(c.Name, "node-")
		if isNode && strings.HasPrefix(c.Title, "simulated node") {
			all[cluster] = "its node is simulated; `kalypso doctor` says why"
		}
	}
	for _, c := range status.Existing {
		all[c.Name] = c.Pods
	}
	return all
}

// secretsOf are the passwords and keys of a sandbox.
func secretsOf(home sandbox.Home) ([]string, error) {
	s, err := home.Load()
	if err != nil {
		return nil, err
	}
	return []string{
		s.Admin.Password, s.Scheduler.Password, s.ArgoCDPassword,
		s.WebhookSecret, s.GiteaSecret, s.GiteaInternal, s.GiteaJWT,
	}, nil
}
