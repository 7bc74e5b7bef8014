package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// azTutorial is the tutorial's own line, as a shell splits it.
var azTutorial = []string{
	"k8s-configuration", "flux", "create",
	"--name", "platform-qa",
	"--cluster-name", "arc-cluster",
	"--namespace", "flux-system",
	"--https-user", "flux",
	"--https-key", "t0ken",
	"--resource-group", "kalypso-rg",
	"--url", "https://github.com/kalypso/kalypso-platform-gitops",
	"--scope", "cluster",
	"--interval", "10s",
	"--cluster-type", "connectedClusters",
	"--branch", "qa",
	"--kustomization", "name=platform-qa", "prune=true", "sync_interval=10s", "path=west-us",
}

// azEcho takes a body and says that all is done.
func azEcho(got *map[string]any) func(string, string) http.Handler {
	return func(string, string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut || r.Method == http.MethodPatch {
				var body map[string]map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				*got = body["properties"]
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"name": "platform-qa", "properties": {"provisioningState": "Succeeded"}}`))
		})
	}
}

func TestAzCreateAsTheTutorialDoes(t *testing.T) {
	var got map[string]any
	azSandbox(t, azEcho(&got))
	if _, err := azCommand(t, azTutorial...); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
  "scope": "cluster", "namespace": "flux-system", "sourceKind": "GitRepository", "suspend": false,
  "configurationProtectedSettings": {"httpsKey": "dDBrZW4="},
  "gitRepository": {
    "url": "http://localhost:1/kalypso/kalypso-platform-gitops", "httpsUser": "flux", "syncIntervalInSeconds": 10,
    "repositoryRef": {"branch": "qa"}},
  "kustomizations": {"platform-qa": {
    "name": "platform-qa", "path": "west-us", "prune": true, "force": false, "dependsOn": [],
    "syncIntervalInSeconds": 10}}}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAzUpdateSendsOnlyWhatIsGiven(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := []string{"k8s-configuration", "flux", "update", "-n", "platform-qa", "-c", "arc-cluster", "-g", "kalypso-rg", "-t", "connectedClusters"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"suspend":        {[]string{"--suspend"}, `{"suspend": true}`},
		"resume":         {[]string{"--suspend", "false"}, `{"suspend": false}`},
		"interval":       {[]string{"--sync-interval", "1m"}, `{"gitRepository": {"syncIntervalInSeconds": 60}}`},
		"tag":            {[]string{"--tag", "v1"}, `{"gitRepository": {"repositoryRef": {"tag": "v1", "branch": null, "semver": null, "commit": null}}}`},
		"kustomization":  {[]string{"-k", "name=a", "path=p", "depends_on=[b,c]"}, `{"kustomizations": {"a": {"path": "p", "dependsOn": ["b", "c"]}}}`},
		"two of them":    {[]string{"-k", "name=a", "prune=false", "--kustomization", "name=b", "disable_health_check=true"}, `{"kustomizations": {"a": {"prune": false}, "b": {"wait": false}}}`},
		"new credential": {[]string{"--https-user", "u", "--https-key", "k"}, `{"gitRepository": {"httpsUser": "u"}, "configurationProtectedSettings": {"httpsKey": "aw=="}}`},
		"hidden one":     {[]string{"--https-user", "u", "--https-key", "@" + key}, `{"gitRepository": {"httpsUser": "u"}, "configurationProtectedSettings": {"httpsKey": "aw=="}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[string]any
			azSandbox(t, azEcho(&got))
			if _, err := azCommand(t, append(target, c.args...)...); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
