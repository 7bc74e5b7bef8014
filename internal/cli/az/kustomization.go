package az

import (
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

// kustomizationKeys are the words of --kustomization, each with the property
// that it sets.
var kustomizationKeys = map[string]string{
	"name": "name", "path": "path", "prune": "prune", "force": "force", "timeout": "timeoutInSeconds",
	"disable_health_check": "wait",
	"interval":             "syncIntervalInSeconds", "sync_interval": "syncIntervalInSeconds", "syncInterval": "syncIntervalInSeconds",
	"retry_interval": "retryIntervalInSeconds", "retryInterval": "retryIntervalInSeconds",
	"depends": "dependsOn", "depends_on": "dependsOn", "dependsOn": "dependsOn", "dependencies": "dependsOn",
}

// kustomization reads words such as name=apps path=./apps prune=true.
func kustomization(words []string) (*armapi.Kustomization, error) {
	k := &armapi.Kustomization{DependsOn: []string{}}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		property := kustomizationKeys[key]
		if !ok || property == "" {
			return nil, usage.Errorf("--kustomization takes KEY=VALUE [KEY=VALUE ...], and knows no %q", w)
		}
		if err := setProperty(k, property, key, value); err != nil {
			return nil, err
		}
	}
	if k.Name == "" {
		return nil, usage.New("a kustomization has no name: write --kustomization name=NAME")
	}
	return k, nil
}

func setProperty(k *armapi.Kustomization, property, key, value string) (err error) {
	switch property {
	case "name":
		k.Name = value
	case "path":
		k.Path = value
	case "prune":
		k.Prune, err = truth(key, value)
	case "force":
		k.Force, err = truth(key, value)
	case "wait":
		var off bool
		off, err = truth(key, value)
		on := !off
		k.Wait = &on
	case "timeoutInSeconds":
		k.TimeoutInSeconds, err = seconds(key, value)
	case "syncIntervalInSeconds":
		k.SyncIntervalInSeconds, err = seconds(key, value)
	case "retryIntervalInSeconds":
		k.RetryIntervalInSeconds, err = seconds(key, value)
	case "dependsOn":
		for _, one := range strings.Split(strings.Trim(value, "[]"), ",") {
			if one = strings.Trim(strings.TrimSpace(one), `"'`); one != "" {
				k.DependsOn = append(k.DependsOn, one)
			}
		}
	}
	return err
}

// setsProperty tells whether the words set a property.
func setsProperty(words []string, property string) bool {
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		if key != "name" && kustomizationKeys[key] == property {
			return true
		}
	}
	return false
}

func truth(key, value string) (bool, error) {
	b, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return false, usage.Errorf("%s=%s: write true or false", key, value)
	}
	return b, nil
}
