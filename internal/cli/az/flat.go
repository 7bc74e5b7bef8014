package az

import (
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// flat is a resource as the Azure CLI prints it: its properties beside its
// name, and its resource group.
func flat(resource any) (map[string]any, error) {
	v, err := plainJSON(resource)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	delete(m, "properties")
	for k, one := range properties {
		m[k] = one
	}
	if id, _ := m["id"].(string); id != "" {
		if c, err := armapi.ParseClusterID(id); err == nil {
			m["resourceGroup"] = c.ResourceGroup
		}
	}
	if g, ok := m["gitRepository"].(map[string]any); ok {
		g["httpsCaCert"] = g["httpsCACert"]
		delete(g, "httpsCACert")
		m["azureBlob"], m["bucket"], m["configurationProtectedSettings"] = nil, nil, map[string]any{}
	}
	times(m)
	return m, nil
}

func flatAll[T any](resources []T) ([]any, error) {
	all := []any{}
	for _, r := range resources {
		m, err := flat(r)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// times writes times as the Azure CLI does.
func times(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			if s, ok := one.(string); ok && (strings.HasSuffix(k, "At") || strings.HasSuffix(k, "Time")) {
				if rest, ok := strings.CutSuffix(s, "Z"); ok {
					v[k] = rest + "+00:00"
				}
			}
			times(one)
		}
	case []any:
		for _, one := range v {
			times(one)
		}
	}
}
