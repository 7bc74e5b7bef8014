package controller

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// checker collects the mistakes in a configuration, each with its file and line.
type checker struct {
	file     string
	document *yaml.Node
	wrong    []error
}

func (c *checker) add(message string, path ...string) {
	c.wrong = append(c.wrong, fmt.Errorf("%s:%d: %s", c.file, lineOf(c.document, path), message))
}

// validate checks a configuration. One that is not served needs no secret for
// webhooks.
func (c Config) validate(file string, document *yaml.Node, served bool) error {
	check := &checker{file: file, document: document}
	c.Forge.validate(check)
	c.validatePlanes(check)
	both := c.WebhookSecret != "" && c.WebhookSecretFile != ""
	if none := c.WebhookSecret == "" && c.WebhookSecretFile == ""; both || served && none {
		check.add("either webhookSecret or webhookSecretFile is needed", "webhookSecret")
	}
	if c.Poll < 0 || c.Poll > 0 && c.Poll < time.Second {
		check.add(fmt.Sprintf("poll %s is too short: a second is the least", c.Poll), "poll")
	}
	for i, host := range c.AllowedHosts {
		if _, err := gitclient.NewHosts(host); err != nil {
			check.add("allowedHosts: "+err.Error(), "allowedHosts", strconv.Itoa(i))
		}
	}
	if len(c.Addresses) > 0 && c.Forge.Type == GitHub {
		check.add("addresses is for a Gitea that has copies of repositories: leave it out", "addresses")
	}
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		check.add(fmt.Sprintf("listen %q is not of the form host:port", c.Listen), "listen")
	}
	if l := c.LeaderElection; l != nil && l.Length != 0 && l.Length < minElectionLength {
		check.add(fmt.Sprintf("leaderElection.length %s is too short: %s is the least", l.Length, minElectionLength), "leaderElection", "length")
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
			check.add("forge.url is missing", "forge", "url")
		}
		if f.API != "" {
			check.add("forge.api is for GitHub: Gitea's is below its URL", "forge", "api")
		}
		if f.App != nil {
			check.add("forge.app is for GitHub: Gitea takes a token", "forge", "app")
		} else if ways != 1 {
			check.add("forge needs either tokenFile or tokenEnv", "forge", "tokenFile")
		}
	case GitHub:
		if ways != 1 {
			check.add("forge needs one of tokenFile, tokenEnv and app", "forge", "tokenFile")
		}
		if a := f.App; a != nil && (a.ID <= 0 || a.Installation <= 0 || a.KeyFile == "") {
			check.add("forge.app needs id, installation and keyFile", "forge", "app")
		}
	default:
		check.add(fmt.Sprintf("forge.type %q is not known: gitea and github are", f.Type), "forge", "type")
	}
	if s := f.Signing; s != nil && (s.KeyFile == "" || s.Email == "") {
		check.add("forge.signing needs keyFile and email", "forge", "signing")
	}
	check.address("url", f.URL)
	check.address("api", f.API)
}

func (c *checker) address(field, value string) {
	if mistake := addressMistake(value); mistake != "" {
		c.add("forge."+field+" "+mistake, "forge", field)
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
			check.add("controlPlane.repo is missing", "controlPlane", "repo")
		}
		if both := c.ControlPlane.PromoteTo; both != "" && c.PromoteTo != "" && both != c.PromoteTo {
			check.add(fmt.Sprintf("promoteTo is %q here and %q in controlPlane", c.PromoteTo, both), "promoteTo")
		}
		return
	}
	if c.ControlPlane != (ControlPlaneConfig{}) {
		check.add("controlPlane and controlPlanes are given: choose one", "controlPlane")
	}
	if c.PromoteTo != "" {
		check.add("each of several control planes has its own promoteTo: put it there", "promoteTo")
	}
	seen := map[ControlPlaneConfig]bool{}
	for i, p := range c.ControlPlanes {
		at := []string{"controlPlanes", strconv.Itoa(i)}
		if p.Repo == "" {
			check.add("repo of a control plane is missing", at...)
		}
		p.Repo, p.PromoteTo = strings.TrimSuffix(strings.TrimSuffix(p.Repo, "/"), ".git"), ""
		p.Branch = cmp.Or(p.Branch, "main")
		if seen[p] {
			check.add("this control plane is given twice", at...)
		}
		seen[p] = true
	}
}

// spaced turns the tabs that JSON may be indented with into spaces, which YAML
// insists on.
func spaced(data []byte) []byte {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data
	}
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		text := bytes.TrimLeft(line, " \t")
		indent := bytes.ReplaceAll(line[:len(line)-len(text)], []byte("\t"), []byte(" "))
		lines[i] = append(indent, text...)
	}
	return bytes.Join(lines, []byte("\n"))
}

var unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)

// positioned words an error of the YAML package about a file as file:line: message.
func positioned(file string, data []byte, err error) error {
	mistakes := []error{err}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		mistakes = nil
		for _, mistake := range typed.Errors {
			mistakes = append(mistakes, errors.New(mistake))
		}
	}
	var all []error
	for _, mistake := range mistakes {
		line, message := yamlpos.ExplainError(data, mistake)
		if f := unknownField.FindStringSubmatch(message); f != nil {
			message = fmt.Sprintf("unknown field %q", f[1])
			if strings.Contains(strings.ToLower(f[1]), "token") {
				message += ": a token is not in this file, which names where it is: tokenFile or tokenEnv"
			}
		}
		all = append(all, fmt.Errorf("%s:%d: %s", file, line, message))
	}
	return errors.Join(all...)
}

// lineOf is the line of a field, or of the closest mapping that should hold it.
// A list's elements are named by their index.
func lineOf(document *yaml.Node, path []string) int {
	if len(document.Content) == 0 {
		return 1
	}
	key, _ := yamlpos.Closest(document.Content[0], path...)
	return key.Line
}
