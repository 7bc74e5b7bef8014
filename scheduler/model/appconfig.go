package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AppConfigPrefix begins the names of the ConfigMaps that Azure App
// Configuration fills, with no labels of its own. All that belongs to an
// environment lies in one such object, and its keys tell where they belong.
const AppConfigPrefix = "azure-app-config"

// SplitAppConfigKey reads a key of such a ConfigMap, label.value.label.value.key:
// its labels, each followed by its value, and the key that the platform's
// configuration gets. It returns false when the text is not of that form.
func SplitAppConfigKey(text string) (labels []string, key string, ok bool) {
	parts := strings.Split(text, ".")
	last := len(parts) - 1
	if last%2 != 0 || parts[last] == "" {
		return nil, "", false
	}
	for i := 0; i < last; i += 2 {
		if parts[i] == "" {
			return nil, "", false
		}
	}
	return parts[:last], parts[last], true
}

// checkAppConfig warns of keys that apply nowhere because of their form. Such a
// key is most likely a misspelled one.
func checkAppConfig(config PlatformConfig) []Diagnostic {
	if !strings.HasPrefix(config.Name, AppConfigPrefix) || config.Labels[platformConfigLabel] == "true" {
		return nil // with the label its keys apply as they are, too
	}
	var found []Diagnostic
	for _, key := range slices.Sorted(maps.Keys(config.Spec.Data)) {
		if _, _, ok := SplitAppConfigKey(key); ok {
			continue
		}
		found = append(found, Diagnostic{
			Severity: Warning,
			Position: config.At("data", key),
			Message:  fmt.Sprintf("ConfigMap %s: key %q applies nowhere", config.Name, key),
			Hint:     "write label.value.label.value.key: each label with its value, then the key's own name",
		})
	}
	return found
}
