package az

import (
	"context"
	"encoding/base64"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// sourceFlags are the flags of create and update that say what is followed.
type sourceFlags struct {
	kind, url, branch, tag, semver, commit string
	interval, timeout                      string
	httpsUser, httpsKey, localAuthRef      string
	suspend, noWait, yes                   bool
	kustomizations                         []string
}

func (s *sourceFlags) addTo(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.kind, "kind", "git", "kind of the source; git is the only one here")
	f.StringVarP(&s.url, "url", "u", "", "URL of the repository")
	f.StringVar(&s.branch, "branch", "", "branch to follow")
	f.StringVar(&s.tag, "tag", "", "tag to follow")
	f.StringVar(&s.semver, "semver", "", "range of versions to follow")
	f.StringVar(&s.commit, "commit", "", "commit to stay on")
	f.StringVar(&s.interval, "interval", "", "time between looks at the repository")
	f.StringVar(&s.timeout, "timeout", "", "how long a look may take")
	f.StringVar(&s.httpsUser, "https-user", "", "user of a private repository")
	f.StringVar(&s.httpsKey, "https-key", "", "token or password of that user, or @FILE with it, which keeps it out of the list of processes")
	f.StringVar(&s.localAuthRef, "local-auth-ref", "", "secret on the cluster that has the credentials")
	f.BoolVar(&s.suspend, "suspend", false, "do not follow the repository for now")
	f.BoolVar(&s.noWait, "no-wait", false, "do not wait until it is on the cluster")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
	f.StringArrayVarP(&s.kustomizations, "kustomization", "k", nil, "folder to apply: name=NAME [path=PATH prune=true sync_interval=10s ...]; may be repeated")
}

func (s *sourceFlags) check() error {
	switch {
	case s.kind != "git":
		return usage.New("--kind " + s.kind + " is not supported here, only git")
	case (s.httpsUser == "") != (s.httpsKey == ""):
		return usage.New("--https-user and --https-key cannot be used separately")
	}
	// as in the Azure CLI
	if file, ok := strings.CutPrefix(s.httpsKey, "@"); ok {
		key, err := os.ReadFile(file)
		if err != nil {
			return usage.New("--https-key: " + err.Error())
		}
		s.httpsKey = strings.TrimSuffix(string(key), "\n")
	}
	return nil
}

// protected are the secrets, encoded as the service takes them.
func (s *sourceFlags) protected() map[string]string {
	if s.httpsKey == "" {
		return nil
	}
	return map[string]string{"httpsKey": base64.StdEncoding.EncodeToString([]byte(s.httpsKey))}
}

func fluxCreate(a *command) *cobra.Command {
	c := &cobra.Command{Use: "create", Short: "Make a cluster follow a repository"}
	var t target
	var s sourceFlags
	var scope, namespace string
	t.addTo(c, true)
	s.addTo(c)
	c.Flags().StringVarP(&scope, "scope", "s", "cluster", "cluster or namespace")
	c.Flags().StringVar(&namespace, "namespace", "default", "namespace of the configuration's objects")
	require(c, "url")
	return leaf(a, c, fluxColumns, func(ctx context.Context, z *call) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		p, err := s.properties(z)
		if err != nil {
			return nil, err
		}
		p.Scope, p.Namespace = scope, namespace
		if err := armemulator.Check(t.name, *p); err != nil {
			return nil, usage.New(err.Error())
		}
		z.Messagef("Creating the flux configuration '%s' in the cluster.", t.name)
		made, err := z.client.Put(ctx, cluster, t.name, *p, !s.noWait)
		if err != nil || s.noWait {
			return nil, err
		}
		return flat(made)
	})
}

func (s *sourceFlags) properties(z *call) (*armapi.Properties, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	g, err := s.repository(z)
	if err != nil {
		return nil, err
	}
	p := &armapi.Properties{
		SourceKind: "GitRepository", Suspend: s.suspend, GitRepository: g,
		Kustomizations: map[string]armapi.Kustomization{}, ProtectedSettings: s.protected(),
	}
	for _, text := range s.kustomizations {
		k, err := kustomization(strings.Split(text, separator))
		if err != nil {
			return nil, err
		}
		if _, twice := p.Kustomizations[k.Name]; twice {
			return nil, usage.New("kustomization name '" + k.Name + "' is there twice")
		}
		p.Kustomizations[k.Name] = *k
	}
	if len(p.Kustomizations) == 0 {
		z.Messagef("Warning! No kustomizations were specified: one is made with the default name 'kustomization-1'.")
		p.Kustomizations["kustomization-1"] = armapi.Kustomization{DependsOn: []string{}}
	}
	return p, nil
}

func (s *sourceFlags) repository(z *call) (*armapi.GitRepository, error) {
	interval, err := seconds("--interval", s.interval)
	if err != nil {
		return nil, err
	}
	timeout, err := seconds("--timeout", s.timeout)
	if err != nil {
		return nil, err
	}
	url, err := z.reachable(s.url)
	if err != nil {
		return nil, err
	}
	return &armapi.GitRepository{
		URL: url, SyncIntervalInSeconds: interval, TimeoutInSeconds: timeout,
		RepositoryRef: armapi.RepositoryRef{Branch: text(s.branch), Tag: text(s.tag), Semver: text(s.semver), Commit: text(s.commit)},
		HTTPSUser:     text(s.httpsUser), LocalAuthRef: text(s.localAuthRef),
	}, nil
}

// reachable leads the tutorials' URLs on GitHub to the sandbox's forge: its
// organisation is there under the same name, and GitHub is not within reach.
func (z *call) reachable(url string) (string, error) {
	rest, ok := strings.CutPrefix(url, "https://github.com/"+sandbox.Organisation+"/")
	if !ok || z.real {
		return url, nil
	}
	home, err := z.Home()
	if err != nil {
		return "", err
	}
	forge, err := sandbox.GetCredentials(home)
	if err != nil {
		return "", err
	}
	url = forge.OrgURL + "/" + rest
	z.Messagef("https://github.com/%s is %s in the sandbox: following %s", sandbox.Organisation, forge.OrgURL, url)
	return url, nil
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
