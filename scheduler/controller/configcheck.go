package controller

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/scheduler/lease"
)

// checker collects what is wrong with a configuration, each mistake with where
// it is made.
type checker struct {
	file     string
	document *yaml.Node
	wrong    []error
}

func (c *checker) say(message string, path ...string) {
	c.wrong = append(c.wrong, fmt.Errorf("%s:%d: %s", c.file, lineOf(c.document, path), message))
}

// validate checks what a configuration says. One that is not served needs no
// secret for webhooks.
func (c Config) validate(file string, document *yaml.Node, served bool) error {
	check := &checker{file: file, document: document}
	c.Forge.validate(check)
	c.validatePlanes(check)
	both := c.WebhookSecret != "" && c.WebhookSecretFile != ""
	if none := c.WebhookSecret == "" && c.WebhookSecretFile == ""; both || served && none {
		check.say("either webhookSecret or webhookSecretFile is needed", "webhookSecret")
	}
	if c.Poll < 0 || c.Poll > 0 && c.Poll < time.Second {
		check.say(fmt.Sprintf("poll %s is too short: a second is the least", c.Poll), "poll")
	}
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		check.say(fmt.Sprintf("listen %q is not of the form host:port", c.Listen), "listen")
	}
	if l := c.LeaderElection; l != nil && l.Length != 0 && l.Length < lease.MinLength {
		check.say(fmt.Sprintf("leaderElection.length %s is too short: %s is the least", l.Length, lease.MinLength), "leaderElection", "length")
	}
	return errors.Join(check.wrong...)
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
			check.say("forge.url is missing", "forge", "url")
		}
		if f.API != "" {
			check.say("forge.api is for GitHub: Gitea's is below its URL", "forge", "api")
		}
		if f.App != nil {
			check.say("forge.app is for GitHub: Gitea takes a token", "forge", "app")
		} else if ways != 1 {
			check.say("forge needs either tokenFile or tokenEnv", "forge", "tokenFile")
		}
	case GitHub:
		if ways != 1 {
			check.say("forge needs one of tokenFile, tokenEnv and app", "forge", "tokenFile")
		}
		if a := f.App; a != nil && (a.ID <= 0 || a.Installation <= 0 || a.KeyFile == "") {
			check.say("forge.app needs id, installation and keyFile", "forge", "app")
		}
	default:
		check.say(fmt.Sprintf("forge.type %q is not known: gitea and github are", f.Type), "forge", "type")
	}
	check.address("url", f.URL)
	check.address("api", f.API)
}

func (c *checker) address(field, value string) {
	if mistake := addressMistake(value); mistake != "" {
		c.say("forge."+field+" "+mistake, "forge", field)
	}
}

// addressMistake says what is wrong with a server's address, without showing
// what could be a password.
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
			check.say("controlPlane.repo is missing", "controlPlane", "repo")
		}
		if both := c.ControlPlane.PromoteTo; both != "" && c.PromoteTo != "" && both != c.PromoteTo {
			check.say(fmt.Sprintf("promoteTo is %q here and %q in controlPlane", c.PromoteTo, both), "promoteTo")
		}
		return
	}
	if c.ControlPlane != (ControlPlaneConfig{}) {
		check.say("controlPlane and controlPlanes are given: choose one", "controlPlane")
	}
	if c.PromoteTo != "" {
		check.say("each of several control planes has its own promoteTo: put it there", "promoteTo")
	}
	seen := map[ControlPlaneConfig]bool{}
	for i, p := range c.ControlPlanes {
		at := []string{"controlPlanes", strconv.Itoa(i)}
		if p.Repo == "" {
			check.say("repo of a control plane is missing", at...)
		}
		p.Repo, p.PromoteTo = strings.TrimSuffix(strings.TrimSuffix(p.Repo, "/"), ".git"), ""
		if p.Branch == "" {
			p.Branch = "main"
		}
		if seen[p] {
			check.say("this control plane is given twice", at...)
		}
		seen[p] = true
	}
}
