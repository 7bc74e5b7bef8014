package arc

import (
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxNames is how long the names of a configuration and of one of its
// kustomizations may be together.
const maxNames = 62

var sourceURL = regexp.MustCompile(`^((https?|ssh)://|git@)`)

// Check refuses what the service refuses in a new configuration, before it is
// sent.
func Check(name string, p arc.Properties) error {
	err := check(name, &p)
	var known *armError
	if errors.As(err, &known) {
		return errors.New(known.message)
	}
	return err
}

// check refuses what the service refuses, and fills in its defaults.
func check(name string, p *arc.Properties) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return invalid("The configuration name '%s' is invalid: %s.", name, problems[0])
	}
	p.Scope = orDefault(p.Scope, "cluster")
	p.Namespace = orDefault(p.Namespace, "default")
	p.SourceKind = orDefault(p.SourceKind, "GitRepository")
	if p.Scope != "cluster" && p.Scope != "namespace" {
		return invalid("The scope '%s' is invalid: it is 'cluster' or 'namespace'.", p.Scope)
	}
	if problems := validation.IsDNS1123Label(p.Namespace); len(problems) > 0 {
		return invalid("The namespace '%s' is invalid: %s.", p.Namespace, problems[0])
	}
	if p.SourceKind != "GitRepository" {
		return invalid("The sandbox does not support the source kind '%s', only 'GitRepository'.", p.SourceKind)
	}
	if err := checkRepository(p.GitRepository); err != nil {
		return err
	}
	for k, one := range p.Kustomizations {
		if problems := validation.IsDNS1123Subdomain(k); len(problems) > 0 {
			return invalid("The kustomization name '%s' is invalid: %s.", k, problems[0])
		}
		if len(name)+len(k) > maxNames {
			return invalid("The configuration name '%s' combined with the kustomization name '%s' cannot be greater than %d characters.", name, k, maxNames)
		}
		for _, n := range one.DependsOn {
			if _, there := p.Kustomizations[n]; !there {
				return invalid("The kustomization '%s' depends on '%s', which is not part of the configuration.", k, n)
			}
		}
	}
	return nil
}

func checkRepository(g *arc.GitRepository) error {
	if g == nil {
		return invalid("The property 'gitRepository' is required for the source kind 'GitRepository'.")
	}
	if !sourceURL.MatchString(g.URL) {
		return invalid("The url '%s' is invalid: it begins with http://, https://, ssh:// or git@.", g.URL)
	}
	r := g.RepositoryRef
	set := slices.DeleteFunc([]*string{r.Branch, r.Tag, r.Semver, r.Commit}, func(s *string) bool { return s == nil })
	if len(set) == 0 {
		return invalid("The property 'repositoryRef' is required: one of branch, tag, semver or commit.")
	}
	if r.Commit == nil && len(set) > 1 {
		return invalid("The property 'repositoryRef' may have only one of branch, tag and semver.")
	}
	return nil
}

func hasCredentials(p arc.Properties) bool {
	g := p.GitRepository
	return g.HTTPSUser != nil || g.HTTPSCACert != nil || g.SSHKnownHosts != nil || len(p.ProtectedSettings) > 0
}

// credentials are the data of the secret; none when the configuration brings
// none, and then the secret that is there stays.
func credentials(p arc.Properties) (map[string]string, error) {
	g := p.GitRepository
	data := map[string]string{}
	for _, from := range []struct {
		what, key string
		value     *string
	}{
		{"httpsKey", "password", setting(p, "httpsKey")},
		{"sshPrivateKey", "identity", setting(p, "sshPrivateKey")},
		{"sshKnownHosts", "known_hosts", g.SSHKnownHosts},
		{"httpsCACert", "ca.crt", g.HTTPSCACert},
	} {
		if from.value == nil {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(*from.value))
		if err != nil {
			return nil, invalid("The property '%s' is not in base64.", from.what)
		}
		data[from.key] = string(b)
	}
	if g.HTTPSUser != nil && data["password"] != "" {
		data["username"] = *g.HTTPSUser
	}
	if len(p.ProtectedSettings) == 0 && data["ca.crt"] == "" {
		return nil, nil
	}
	return data, nil
}

func setting(p arc.Properties, key string) *string {
	if v, ok := p.ProtectedSettings[key]; ok {
		return &v
	}
	return nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
