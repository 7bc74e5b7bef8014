package doctor

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// proxyVariables in the order in which curl and git ask for them.
var proxyVariables = []string{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY"}

// checkProxy asks whether calls of the person's own programs to the sandbox
// would go to a proxy, which cannot reach it. Kalypso's parts use none.
func checkProxy(_ context.Context, sys *System, _ *Subject) Finding {
	var set []string
	plain := false // one is for http, which the forge speaks
	for _, name := range proxyVariables {
		if value := sys.Env(name); value != "" {
			set = append(set, name+" is "+proxyHost(value))
			plain = plain || !strings.EqualFold(name, "https_proxy")
		}
	}
	if len(set) == 0 {
		return ok("no proxy is set")
	}
	name := "no_proxy"
	except := sys.Env(name)
	if except == "" {
		if value := sys.Env("NO_PROXY"); value != "" {
			name, except = "NO_PROXY", value
		}
	}
	var missing []string
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if !excepted(except, host) {
			missing = append(missing, host)
		}
	}
	found := strings.Join(set, ", ")
	switch {
	case !plain:
		return ok("%s, which is not for what is on this machine", found)
	case len(missing) == 0:
		return ok("%s; %s keeps localhost out of it", found, name)
	}
	value := strings.Join(missing, ",")
	if except != "" {
		value += ",$" + name
	}
	return warning(fmt.Sprintf("%s, also for %s", found, strings.Join(missing, " and ")),
		"your own git, curl and browser ask the proxy for what is on this machine",
		fmt.Sprintf("`export %s=%s`", name, value))
}

// proxyHost leaves out what may be a password.
func proxyHost(value string) string {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return "set"
	}
	return u.Host
}

// excepted tells whether a list of exceptions has a host, as curl reads it.
func excepted(list, host string) bool {
	address, err := netip.ParseAddr(host)
	isAddress := err == nil
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if entry == "*" || strings.EqualFold(entry, host) {
			return true
		}
		if network, err := netip.ParsePrefix(entry); err == nil && isAddress && network.Contains(address) {
			return true
		}
	}
	return false
}
