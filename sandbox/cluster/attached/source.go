package attached

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// Source is the context of the user's kubeconfig that leads to a cluster.
type Source struct {
	Files   []string `json:"files"`   // of the kubeconfig, with their whole paths
	Context string   `json:"context"` // in it
}

func (s Source) String() string {
	return fmt.Sprintf("context %s of %s", s.Context, strings.Join(s.Files, " and "))
}

// Files are those of the user's kubeconfig, with their whole paths: what
// KUBECONFIG lists, or the one in the home folder.
func Files() ([]string, error) {
	var all []string
	for _, f := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if f == "" {
			continue
		}
		f, err := filepath.Abs(f)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) > 0 {
		return all, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}, nil
}

// Contexts are the names of those that kubeconfig files have.
func Contexts(files []string) ([]string, error) {
	c, err := load(files)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Contexts)), nil
}

func load(files []string) (*clientcmdapi.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	return rules.Load()
}

// MissingError is about a context that a kubeconfig has no longer.
type MissingError struct{ Source Source }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no context %s in %s any more", e.Source.Context, strings.Join(e.Source.Files, " and "))
}

// config is the context alone, with all that it needs, and everything in it
// called name.
func (s Source) config(name string) (*clientcmdapi.Config, error) {
	c, err := load(s.Files)
	if err != nil {
		return nil, err
	}
	if c.Contexts[s.Context] == nil {
		return nil, &MissingError{s}
	}
	c.CurrentContext = s.Context
	if err := clientcmdapi.MinifyConfig(c); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	if err := clientcmdapi.FlattenConfig(c); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	from := c.Contexts[s.Context]
	there, user := c.Clusters[from.Cluster], c.AuthInfos[from.AuthInfo]
	if there == nil {
		return nil, fmt.Errorf("%s: it names no cluster", s)
	}
	if user == nil {
		user = clientcmdapi.NewAuthInfo()
	}
	if err := addEnvironment(there, user); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	// without its namespace: the tutorials' lines expect the usual one
	return cluster.Kubeconfig(name, there, user), nil
}

// addEnvironment writes into the kubeconfig the proxy and the variables that the
// user's programs take from their environment: the daemon's children have
// another one.
func addEnvironment(c *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	if c.ProxyURL == "" {
		proxy, err := proxyOf(c.Server)
		if err != nil {
			return err
		}
		c.ProxyURL = proxy
	}
	if user.Exec == nil {
		return nil
	}
	for _, name := range slices.Concat(folderVariables, proxyVariables) {
		set := slices.ContainsFunc(user.Exec.Env, func(v clientcmdapi.ExecEnvVar) bool { return v.Name == name })
		if value, ok := os.LookupEnv(name); ok && !set {
			user.Exec.Env = append(user.Exec.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
		}
	}
	return nil
}

// folderVariables name the folders in which a login program keeps its state.
var folderVariables = []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}

var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// proxyOf is the proxy that leads to a server, "" for none.
func proxyOf(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return "", err
	}
	return proxy.String(), nil
}

// keptOut are prefixes of variables that would change the reconcilers'
// behaviour. Those of folders and proxies are in the kubeconfig, for the login
// program alone.
var keptOut = []string{
	"ARGOCD", "FLUX", "GIT_", "GODEBUG=", "GOGC=", "GOMAXPROCS=", "GOMEMLIMIT=", "GOTRACEBACK=",
	"KUBE", "RUNTIME_NAMESPACE=", "SSH_", "TMPDIR=",
}

// Environment is that of a reconciler which works on the cluster from this
// machine: base, and for a kubeconfig with a login program this process's
// variables, too, since the program may need them.
func (p *Provider) Environment(name string, base []string) []string {
	c, err := p.Sources[name].config(name)
	if err != nil || c.AuthInfos[name].Exec == nil {
		return base // the cluster's unit reports the error
	}
	all := slices.Clone(base)
	for _, kv := range os.Environ() {
		variable, _, _ := strings.Cut(kv, "=")
		out := slices.ContainsFunc(keptOut, func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
		if !out && !slices.Contains(folderVariables, variable) && !slices.Contains(proxyVariables, variable) {
			all = append(all, kv)
		}
	}
	return all
}

// write writes the sandbox's own kubeconfig of the cluster.
func (s Source) write(name, file string) error {
	c, err := s.config(name)
	if err != nil {
		return err
	}
	b, err := clientcmd.Write(*c)
	if err != nil {
		return err
	}
	return replaceFile(file, b)
}

// connect makes a client, and does not call yet. Each call ends within limit.
func (s Source) connect(name string, limit time.Duration) (*cluster.Client, *rest.Config, error) {
	c, err := s.config(name)
	if err != nil {
		return nil, nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*c, nil).ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s, err)
	}
	config.Timeout = limit
	client, err := cluster.ForConfig(config)
	return client, config, err
}

// answers returns an API server's version, as JSON.
func answers(ctx context.Context, client *cluster.Client) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return client.Discovery.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
}
