package armemulator

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxNames is how long the names of a configuration and of one of its
// kustomizations may be together.
const maxNames = 62

var sourceURL = regexp.MustCompile(`^((https?|ssh)://|git@)`)

// Check is what the service would refuse in a new configuration.
func Check(name string, p armapi.Properties) error {
	if err := check(name, &p); err != nil {
		return errors.New(err.Message)
	}
	return nil
}

// check validates a configuration as the service does, and fills in defaults.
func check(name string, p *armapi.Properties) *Error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return invalid("The configuration name '%s' is invalid: %s.", name, requirement(problems))
	}
	p.Scope = cmp.Or(p.Scope, "cluster")
	p.Namespace = cmp.Or(p.Namespace, "default")
	p.SourceKind = cmp.Or(p.SourceKind, "GitRepository")
	if p.Scope != "cluster" && p.Scope != "namespace" {
		return invalid("The scope '%s' is invalid: it is 'cluster' or 'namespace'.", p.Scope)
	}
	if problems := validation.IsDNS1123Label(p.Namespace); len(problems) > 0 {
		return invalid("The namespace '%s' is invalid: %s.", p.Namespace, requirement(problems))
	}
	if p.SourceKind != "GitRepository" {
		return invalid("The emulator does not support the source kind '%s', only 'GitRepository'.", p.SourceKind)
	}
	if err := checkRepository(p.GitRepository); err != nil {
		return err
	}
	for k, one := range p.Kustomizations {
		if problems := validation.IsDNS1123Subdomain(k); len(problems) > 0 {
			return invalid("The kustomization name '%s' is invalid: %s.", k, requirement(problems))
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

func checkRepository(g *armapi.GitRepository) *Error {
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

// requirement is what Kubernetes asks of a name, without the examples and the
// regular expression at the end.
func requirement(problems []string) string {
	text, _, _ := strings.Cut(problems[0], " (e.g.")
	return text
}
