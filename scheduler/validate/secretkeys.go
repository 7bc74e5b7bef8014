package validate

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// secretKeys reports keys of platform configuration whose values seem to be
// secrets. The values themselves are never in a message.
func (e *examination) secretKeys() {
	for _, c := range e.Model.Configs {
		for _, key := range slices.Sorted(maps.Keys(c.Spec.Data)) {
			for _, found := range secretsOf(key, c.Spec.Data[key]) {
				e.report(Finding{
					Rule: SecretInConfig, Severity: Warning, Position: c.At("data", key), object: objectOf(kindConfigMap, c), field: key,
					Message: fmt.Sprintf("ConfigMap %s: %s looks like a secret, and platform configuration is for all to read", c.Name, found),
					Hint:    "keep it in a secret store that clusters read, and write the name of its entry here",
				})
			}
		}
	}
}

// secretsOf returns the names by which a configuration value is, or has in it, what
// looks like a secret. A value can be YAML, JSON, a file of settings, or a
// connection string.
func secretsOf(key, value string) []string {
	if isSecretName(key) && isLiteral(value) {
		return []string{key}
	}
	var found []string
	for _, part := range strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune("\n,;{}", c) }) {
		if m := keyAndValue.FindStringSubmatch(part); m != nil && isSecretName(m[1]) && isLiteral(m[2]) {
			found = append(found, key+"."+m[1])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

var keyAndValue = regexp.MustCompile(`^[\s-]*(?:export\s+)?["']?([\w.-]+)["']?\s*[:=]\s*(.*)$`)

// secretNames end the names of secrets, in lower case and without separators.
// Many a key of another kind ends in key, too.
var secretNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "connectionstring",
	"apikey", "accesskey", "accountkey", "encryptionkey", "functionkey", "licensekey", "masterkey", "privatekey",
	"secretkey", "sharedkey", "signingkey", "storagekey", "subscriptionkey",
}

// namesOfSecrets end the names of what only names a secret of Kubernetes.
var namesOfSecrets = []string{"pullsecret", "tlssecret", "existingsecret"}

func isSecretName(key string) bool {
	name := strings.ToLower(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return c
		}
		return -1
	}, key))
	name = strings.TrimRight(name, "0123456789")
	endsIn := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.ContainsFunc(secretNames, endsIn) && !slices.ContainsFunc(namesOfSecrets, endsIn)
}

// isLiteral says whether a value can be a secret itself: it is no switch, number or
// duration, and does not say where something is.
func isLiteral(value string) bool {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	if value == "" || strings.ContainsRune("$<{@/.~*|>&[", rune(value[0])) {
		return false
	}
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "null", "none":
		return false
	}
	_, number := strconv.ParseFloat(value, 64)
	_, duration := time.ParseDuration(value)
	if number == nil || duration == nil {
		return false
	}
	address, err := url.Parse(value)
	return err != nil || address.Host == "" || address.User != nil
}
