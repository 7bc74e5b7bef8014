package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// azKustomizationKeys are the words of --kustomization, each with the property
// that it sets.
var azKustomizationKeys = map[string]string{
	"name": "name", "path": "path", "prune": "prune", "force": "force", "timeout": "timeoutInSeconds",
	"disable_health_check": "wait",
	"interval":             "syncIntervalInSeconds", "sync_interval": "syncIntervalInSeconds", "syncInterval": "syncIntervalInSeconds",
	"retry_interval": "retryIntervalInSeconds", "retryInterval": "retryIntervalInSeconds",
	"depends": "dependsOn", "depends_on": "dependsOn", "dependsOn": "dependsOn", "dependencies": "dependsOn",
}

// azKustomization reads words such as name=apps path=./apps prune=true.
func azKustomization(words []string) (*arc.Kustomization, error) {
	k := &arc.Kustomization{DependsOn: []string{}}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		property := azKustomizationKeys[key]
		if !ok || property == "" {
			return nil, &sandbox.UsageError{Message: fmt.Sprintf("--kustomization takes KEY=VALUE [KEY=VALUE ...], and knows no %q", w)}
		}
		if err := azSet(k, property, key, value); err != nil {
			return nil, err
		}
	}
	if k.Name == "" {
		return nil, &sandbox.UsageError{Message: "a kustomization has no name: write --kustomization name=NAME"}
	}
	return k, nil
}

func azSet(k *arc.Kustomization, property, key, value string) (err error) {
	switch property {
	case "name":
		k.Name = value
	case "path":
		k.Path = value
	case "prune":
		k.Prune, err = azTruth(key, value)
	case "force":
		k.Force, err = azTruth(key, value)
	case "wait":
		var off bool
		off, err = azTruth(key, value)
		on := !off
		k.Wait = &on
	case "timeoutInSeconds":
		k.TimeoutInSeconds, err = azSeconds(key, value)
	case "syncIntervalInSeconds":
		k.SyncIntervalInSeconds, err = azSeconds(key, value)
	case "retryIntervalInSeconds":
		k.RetryIntervalInSeconds, err = azSeconds(key, value)
	case "dependsOn":
		for _, one := range strings.Split(strings.Trim(value, "[]"), ",") {
			if one = strings.Trim(strings.TrimSpace(one), `"'`); one != "" {
				k.DependsOn = append(k.DependsOn, one)
			}
		}
	}
	return err
}

// azGiven tells whether the words set a property.
func azGiven(words []string, property string) bool {
	for _, w := range words {
		key, _, _ := strings.Cut(w, "=")
		if key != "name" && azKustomizationKeys[key] == property {
			return true
		}
	}
	return false
}

func azTruth(key, value string) (bool, error) {
	b, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return false, &sandbox.UsageError{Message: fmt.Sprintf("%s=%s: write true or false", key, value)}
	}
	return b, nil
}
