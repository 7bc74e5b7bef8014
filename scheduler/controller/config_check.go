package controller

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// checker collects the mistakes in a configuration.
type checker struct{ yamlpos.Checker }

// validate checks a configuration. One that is not served needs no secret for
// webhooks.
func (c Config) validate(file string, document *yaml.Node, served bool) error {
	check := &checker{yamlpos.Checker{File: file, Document: document}}
	c.Forge.validate(check)
	c.validatePlanes(check)
	both := c.WebhookSecret != "" && c.WebhookSecretFile != ""
	if none := c.WebhookSecret == "" && c.WebhookSecretFile == ""; both || served && none {
		check.Add("either webhookSecret or webhookSecretFile is needed", "webhookSecret")
	}
	if c.Poll < 0 || c.Poll > 0 && c.Poll < time.Second {
		check.Add(fmt.Sprintf("poll %s is too short: a second is the least", c.Poll), "poll")
	}
	for i, host := range c.AllowedHosts {
		if _, err := gitclient.NewHosts(host); err != nil {
			check.Add("allowedHosts: "+err.Error(), "allowedHosts", strconv.Itoa(i))
		}
	}
	for i, o := range c.Observe {
		o.validate(check, i)
	}
	if len(c.Addresses) > 0 && c.Forge.Type == GitHub {
		check.Add("addresses is for a Gitea that has copies of repositories: leave it out", "addresses")
	}
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		check.Add(fmt.Sprintf("listen %q is not of the form host:port", c.Listen), "listen")
	}
	if l := c.LeaderElection; l != nil && l.Length != 0 && l.Length < minElectionLength {
		check.Add(fmt.Sprintf("leaderElection.length %s is too short: %s is the least", l.Length, minElectionLength), "leaderElection", "length")
	}
	return check.Err()
}

func (f ForgeConfig) validate(check *checker) {
	ways := 0
	for _, given := range []bool{f.TokenFile != "", f.TokenEnv != "", f.App != nil} {
		if given {
			ways++
		}
	}
	switch f.Type {
	case Gitea:
		if f.URL == "" {
			check.Add("forge.url is missing", "forge", "url")
		}
		if f.API != "" {
			check.Add("forge.api is for GitHub: Gitea's is below its URL", "forge", "api")
		}
		if f.App != nil {
			check.Add("forge.app is for GitHub: Gitea takes a token", "forge", "app")
		} else if ways != 1 {
			check.Add("forge needs either tokenFile or tokenEnv", "forge", "tokenFile")
		}
	case GitHub:
		if ways != 1 {
			check.Add("forge needs one of tokenFile, tokenEnv and app", "forge", "tokenFile")
		}
		if a := f.App; a != nil && (a.ID <= 0 || a.Installation <= 0 || a.KeyFile == "") {
			check.Add("forge.app needs id, installation and keyFile", "forge", "app")
		}
	default:
		check.Add(fmt.Sprintf("forge.type %q is not known: gitea and github are", f.Type), "forge", "type")
	}
	if s := f.Signing; s != nil && (s.KeyFile == "" || s.Email == "") {
		check.Add("forge.signing needs keyFile and email", "forge", "signing")
	}
	check.address("url", f.URL)
	check.address("api", f.API)
}

func (c *checker) address(field, value string) {
	if mistake := addressMistake(value); mistake != "" {
		c.Add("forge."+field+" "+mistake, "forge", field)
	}
}

// addressMistake says what is wrong with a server's address, without a password
// that may be in it.
func addressMistake(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "is no http or https URL"
	case u.User != nil:
		return "holds credentials: they belong into a file or the environment"
	}
	return ""
}

func (c Config) validatePlanes(check *checker) {
	if len(c.ControlPlanes) == 0 {
		if c.ControlPlane.Repo == "" {
			check.Add("controlPlane.repo is missing", "controlPlane", "repo")
		}
		if both := c.ControlPlane.PromoteTo; both != "" && c.PromoteTo != "" && both != c.PromoteTo {
			check.Add(fmt.Sprintf("promoteTo is %q here and %q in controlPlane", c.PromoteTo, both), "promoteTo")
		}
		return
	}
	if c.ControlPlane != (ControlPlaneConfig{}) {
		check.Add("controlPlane and controlPlanes are given: choose one", "controlPlane")
	}
	if c.PromoteTo != "" {
		check.Add("each of several control planes has its own promoteTo: put it there", "promoteTo")
	}
	seen := map[ControlPlaneConfig]bool{}
	for i, p := range c.ControlPlanes {
		at := []string{"controlPlanes", strconv.Itoa(i)}
		if p.Repo == "" {
			check.Add("repo of a control plane is missing", at...)
		}
		p.Repo, p.PromoteTo = strings.TrimSuffix(strings.TrimSuffix(p.Repo, "/"), ".git"), ""
		p.Branch = cmp.Or(p.Branch, "main")
		if seen[p] {
			check.Add("this control plane is given twice", at...)
		}
		seen[p] = true
	}
}
