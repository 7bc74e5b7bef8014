package actions

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

const scopePrefix = "ENV__"

// Scoped is the name under which the forge keeps a variable or secret of one
// environment: NEXT_ENVIRONMENT of "dev" is ENV__DEV__NEXT_ENVIRONMENT. Gitea
// has no environments of its own, and its names have upper-case letters,
// digits and underscores only.
func Scoped(environment, name string) string {
	return scope(environment) + strings.ToUpper(name)
}

func scope(environment string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(environment))
	return scopePrefix + plain + "__"
}

// inEnvironment are the variables or secrets that a job sees: those without an
// environment, and over them those of its own.
func inEnvironment(all map[string]string, environment string) map[string]string {
	seen := make(map[string]string, len(all))
	for name, v := range all {
		if !strings.HasPrefix(strings.ToUpper(name), scopePrefix) {
			seen[name] = v
		}
	}
	if environment == "" {
		return seen
	}
	for name, v := range all {
		if own, ok := strings.CutPrefix(strings.ToUpper(name), scope(environment)); ok && own != "" {
			seen[own] = v
		}
	}
	return seen
}

// hasScoped tells whether there is any environment's variable or secret: only
// then does it matter which environment a job names.
func hasScoped(sets ...map[string]string) bool {
	for _, set := range sets {
		for name := range set {
			if strings.HasPrefix(strings.ToUpper(name), scopePrefix) {
				return true
			}
		}
	}
	return false
}

// environmentName reads a job's `environment`: a name, or a mapping with one.
func environmentName(n *yaml.Node) (string, error) {
	if n.IsZero() {
		return "", nil
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	var mapping struct {
		Name string `yaml:"name"`
	}
	if err := n.Decode(&mapping); err != nil || mapping.Name == "" {
		return "", errors.New("environment: it has no name")
	}
	return mapping.Name, nil
}
