package hub

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/hub/telemetry"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

// DefaultListen is where a hub listens when its configuration does not say.
const DefaultListen = "127.0.0.1:8780"

// DefaultRetention is for how long events and the audit log are kept when the
// configuration does not say.
const DefaultRetention = Age(400 * 24 * time.Hour)

// Config is the configuration file of a hub, in YAML or JSON.
type Config struct {
	// Scheduler is whose control planes, forge and fleet the hub shows.
	Scheduler SchedulerConfig `yaml:"scheduler"`
	// Listen is the address of the pages and of the API; DefaultListen when empty.
	Listen string `yaml:"listen"`
	// MetricsListen is that of /metrics, which anybody who reaches it may read; "" for none.
	MetricsListen string `yaml:"metricsListen"`
	// PublicURL is how browsers reach the hub, where that is not Listen.
	PublicURL string `yaml:"publicURL"`
	// TLS is the certificate of Listen; nil for none. BehindProxy says that a proxy has it.
	TLS         *TLSConfig  `yaml:"tls"`
	BehindProxy bool        `yaml:"behindProxy"`
	Store       StoreConfig `yaml:"store"`
	// Mirrors is the folder with copies of the repositories that are followed; by default
	// beside the SQLite file, and with PostgreSQL in the user's cache folder.
	Mirrors string `yaml:"mirrors"`
	// Observe are the parts of the fleet. Clusters that several know are put together.
	Observe []ObserveConfig `yaml:"observe"`
	// Chain are the environments in their order of promotion; by name when empty.
	Chain []string `yaml:"chain"`
	// SignIn are the ways to sign in besides tokens, and Roles what those who do may.
	SignIn    SignInConfig    `yaml:"signIn"`
	Roles     auth.Rules      `yaml:"roles"`
	Traces    TracesConfig    `yaml:"traces"`
	Poll      time.Duration   `yaml:"poll"` // of heads of branches; collect.DefaultPoll when zero
	Retention RetentionConfig `yaml:"retention"`

	scheduler controller.Config // LoadConfig reads it
	// unreached is the mistake that it is if nobody can sign in: others reach the hub, and there
	// is no way to sign in but tokens. "" where that is none.
	unreached string
}

// SchedulerConfig says where the scheduler is.
type SchedulerConfig struct {
	// Config is its configuration file, which has the forge, the control planes and the
	// secret of the webhooks.
	Config string `yaml:"config"`
	// URL is where it serves its status; "" when it is not asked.
	URL string `yaml:"url"`
}

// TLSConfig names a certificate with its chain, and its key, both in PEM.
type TLSConfig struct {
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// StoreConfig says where the database is: in a file, or in PostgreSQL, whose URL is in an
// environment variable since it holds a password.
type StoreConfig struct {
	SQLite      string `yaml:"sqlite"`
	PostgresEnv string `yaml:"postgresEnv"`
}

// SignInConfig are the ways to sign in; several can be there.
type SignInConfig struct {
	OIDC  *OIDCConfig        `yaml:"oidc"`
	Forge *ForgeSignInConfig `yaml:"forge"`
	// Session is for how long a session is valid; auth.DefaultSession when zero.
	Session time.Duration `yaml:"session"`
}

// OIDCConfig is an OpenID provider. The hub's callback there is /signin/oidc/callback below
// publicURL.
type OIDCConfig struct {
	Issuer       string `yaml:"issuer"`
	ClientID     string `yaml:"clientID"`
	ClientSecret `yaml:",inline"`
	// GroupsClaim is the claim with the groups that roles name; groups when empty.
	GroupsClaim string `yaml:"groupsClaim"`
	// Scopes are asked for besides openid; profile and email when empty.
	Scopes []string `yaml:"scopes"`
	Title  string   `yaml:"title"` // of the button
}

// ForgeSignInConfig is the hub as an application of the scheduler's forge: an OAuth2 application of
// Gitea, or a GitHub App. Its callback is /signin/gitea/callback, or /signin/github/callback.
type ForgeSignInConfig struct {
	ClientID     string `yaml:"clientID"`
	ClientSecret `yaml:",inline"`
}

// ClientSecret says where the secret of an application is; nowhere, if it has none.
type ClientSecret struct {
	SecretFile string `yaml:"secretFile"`
	SecretEnv  string `yaml:"secretEnv"`
}

// TracesConfig is about the traces of changes, which are exported where
// OTEL_EXPORTER_OTLP_ENDPOINT names a receiver.
type TracesConfig struct {
	// ClusterSpans are which clusters have spans of their own: slowest, when empty, for those that
	// fail and the 20 slowest of each cluster type, or all.
	ClusterSpans string `yaml:"clusterSpans"`
}

// ObserveConfig is a part of the fleet: one of the four.
type ObserveConfig struct {
	// Kubeconfig is a file with a context for each cluster.
	Kubeconfig string          `yaml:"kubeconfig"`
	Arc        *ArcConfig      `yaml:"arc"`
	Endpoint   *EndpointConfig `yaml:"endpoint"`
	Agents     *AgentsConfig   `yaml:"agents"`
	// Interval is how often it is asked; collect.DefaultInterval when zero. Clusters of a
	// kubeconfig say when something changes, and are asked after collect.FullInterval besides.
	Interval time.Duration `yaml:"interval"`
}

// ArcConfig and EndpointConfig are as the scheduler's configuration has them.
type (
	ArcConfig      = controller.ArcConfig
	EndpointConfig = controller.EndpointConfig
)

// AgentsConfig are clusters that report of themselves, by `kalypso hub agent`.
type AgentsConfig struct {
	// TokensFile has tokens of clusters, see auth.ClusterTokens; "" for those alone that
	// `kalypso hub token create --cluster` has made.
	TokensFile string `yaml:"tokensFile"`
}

// RetentionConfig is for how long things are kept.
type RetentionConfig struct {
	Events Age `yaml:"events"` // DefaultRetention when zero, as is Audit
	Audit  Age `yaml:"audit"`
}

// Age is a duration that can be given in days, as in 30d.
type Age time.Duration

// ParseAge reads an age, such as 30d or 12h.
func ParseAge(text string) (Age, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err == nil && n > 0 {
			return Age(time.Duration(n) * 24 * time.Hour), nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return Age(d), nil
	}
	return 0, fmt.Errorf("%q is no time such as 30d or 12h", text)
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *Age) UnmarshalYAML(node *yaml.Node) (err error) {
	if *a, err = ParseAge(node.Value); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}}
	}
	return nil
}

// LoadConfig reads the configuration file, and that of the scheduler. Files that it names
// are relative to its own folder.
func LoadConfig(file string) (Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("hub configuration: %w", err)
	}
	c, err := ParseConfig(file, data)
	if err != nil {
		return Config{}, err
	}
	names := []*string{&c.Scheduler.Config, &c.Store.SQLite, &c.Mirrors}
	if c.TLS != nil {
		names = append(names, &c.TLS.CertFile, &c.TLS.KeyFile)
	}
	for i := range c.Observe {
		names = append(names, &c.Observe[i].Kubeconfig)
		if e := c.Observe[i].Endpoint; e != nil {
			names = append(names, &e.TokenFile)
		}
		if a := c.Observe[i].Agents; a != nil {
			names = append(names, &a.TokensFile)
		}
	}
	if o := c.SignIn.OIDC; o != nil {
		names = append(names, &o.SecretFile)
	}
	if f := c.SignIn.Forge; f != nil {
		names = append(names, &f.SecretFile)
	}
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(filepath.Dir(file), *name)
		}
	}
	if c.Mirrors == "" {
		if c.Mirrors, err = c.defaultMirrors(); err != nil {
			return Config{}, fmt.Errorf("%s: mirrors is missing, and there is no folder for caches: %w", file, err)
		}
	}
	c.scheduler, err = controller.LoadConfig(c.Scheduler.Config)
	return c, err
}

func (c Config) defaultMirrors() (string, error) {
	if c.Store.SQLite != "" {
		return filepath.Join(filepath.Dir(c.Store.SQLite), "mirrors"), nil
	}
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "kalypso", "mirrors"), err
}

// ParseConfig parses the configuration file. Errors begin with file and line; an unknown
// field is one. An address that others reach without protection is a *usage.Error.
func ParseConfig(file string, data []byte) (Config, error) {
	c := Config{Listen: DefaultListen, Retention: RetentionConfig{DefaultRetention, DefaultRetention}}
	document, err := yamlpos.DecodeConfig(file, data, &c)
	if err != nil {
		return Config{}, err
	}
	check := &yamlpos.Checker{File: file, Document: document}
	c.check(check)
	if err := check.Err(); err != nil {
		return Config{}, err
	}
	if mistake := c.exposed(); mistake != "" {
		return Config{}, usage.Errorf("%s:%d: %s", file, yamlpos.LineOf(document, []string{"listen"}), mistake)
	}
	if !c.loopback() && c.SignIn.OIDC == nil && c.SignIn.Forge == nil {
		c.unreached = fmt.Sprintf("%s:%d: listen %s is reached by others, and nobody can sign in: add signIn.oidc or signIn.forge, or make a token with `kalypso hub token create`",
			file, yamlpos.LineOf(document, []string{"listen"}), c.Listen)
	}
	return c, nil
}

func (c Config) check(check *yamlpos.Checker) {
	if c.Scheduler.Config == "" {
		check.Add("scheduler.config is missing: the forge and the control planes are taken from there", "scheduler", "config")
	}
	checkURL(check, c.Scheduler.URL, "scheduler", "url")
	checkURL(check, c.PublicURL, "publicURL")
	for field, address := range map[string]string{"listen": c.Listen, "metricsListen": c.MetricsListen} {
		if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
			check.Add(fmt.Sprintf("%s %q is not of the form host:port", field, address), field)
		}
	}
	if c.TLS != nil && (c.TLS.CertFile == "" || c.TLS.KeyFile == "") {
		check.Add("tls needs certFile and keyFile", "tls")
	}
	if c.TLS != nil && c.BehindProxy {
		check.Add("either tls or behindProxy: what is behind a proxy has no certificate of its own", "behindProxy")
	}
	if (c.Store.SQLite == "") == (c.Store.PostgresEnv == "") {
		check.Add("store needs either sqlite or postgresEnv", "store")
	}
	if len(c.Observe) == 0 {
		check.Add("observe is missing: name a kubeconfig, arc, an endpoint or agents", "observe")
	}
	agents := 0
	for i, o := range c.Observe {
		o.check(check, "observe", strconv.Itoa(i))
		if o.Agents != nil {
			agents++
		}
		if agents > 1 {
			check.Add("agents is there once: it is all clusters that report", "observe", strconv.Itoa(i))
		}
	}
	c.checkSignIn(check)
	switch c.Traces.ClusterSpans {
	case "", telemetry.SlowestClusters, telemetry.AllClusters:
	default:
		check.Add(fmt.Sprintf("traces.clusterSpans %q is not known: choose %s or %s", c.Traces.ClusterSpans, telemetry.SlowestClusters, telemetry.AllClusters), "traces", "clusterSpans")
	}
	if c.Poll < 0 || c.Poll > 0 && c.Poll < time.Second {
		check.Add(fmt.Sprintf("poll %s is too short: a second is the least", c.Poll), "poll")
	}
}

func (o ObserveConfig) check(check *yamlpos.Checker, path ...string) {
	kinds := 0
	for _, given := range []bool{o.Kubeconfig != "", o.Arc != nil, o.Endpoint != nil, o.Agents != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		check.Add("each part of the fleet is one of kubeconfig, arc, endpoint and agents", path...)
		return
	}
	if o.Interval < 0 || o.Interval > 0 && o.Interval < time.Second {
		check.Add(fmt.Sprintf("interval %s is too short: a second is the least", o.Interval), append(path, "interval")...)
	}
	if o.Arc != nil && len(o.Arc.Subscriptions) == 0 {
		check.Add("arc.subscriptions is missing", append(path, "arc")...)
	}
	if e := o.Endpoint; e != nil {
		if e.URL == "" || (e.TokenFile == "") == (e.TokenEnv == "") {
			check.Add("endpoint needs url, and either tokenFile or tokenEnv", append(path, "endpoint")...)
		}
		checkURL(check, e.URL, append(path, "endpoint", "url")...)
	}
}

func checkURL(check *yamlpos.Checker, address string, path ...string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		check.Add(strings.Join(path, ".")+" is no http or https URL, or holds credentials", path...)
	}
}

// loopback reports whether only this machine reaches the hub.
func (c Config) loopback() bool {
	host, _, _ := net.SplitHostPort(c.Listen)
	return loopbackHost(host)
}

// exposed says what is missing where others can reach the hub, "" for nothing.
func (c Config) exposed() string {
	switch {
	case c.loopback():
		return ""
	case c.TLS == nil && !c.BehindProxy:
		return fmt.Sprintf("listen %s is reached by others, and sessions and tokens would go unencrypted: add tls with certFile and keyFile, or behindProxy: true where a proxy has the certificate", c.Listen)
	case c.PublicURL == "":
		return fmt.Sprintf("listen %s is reached by others: add publicURL, the only name that requests are answered for", c.Listen)
	}
	return ""
}

// hosts are the names that requests are answered for.
func (c Config) hosts() []string {
	var all []string
	if c.loopback() {
		all = append(all, c.Listen)
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		all = append(all, u.Host)
	}
	return all
}

// OpenStore opens the database that a configuration names.
func (c Config) OpenStore(ctx context.Context) (*store.Store, error) {
	o := store.Options{SQLite: c.Store.SQLite}
	if name := c.Store.PostgresEnv; name != "" {
		if o.Postgres = strings.TrimSpace(os.Getenv(name)); o.Postgres == "" {
			return nil, fmt.Errorf("store.postgresEnv: environment variable %s is empty", name)
		}
	}
	return store.Open(ctx, o)
}

// LoadScheduler is the scheduler's configuration that a file is, or that of the scheduler which a
// hub's configuration names.
func LoadScheduler(file string) (controller.Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return controller.Config{}, fmt.Errorf("configuration: %w", err)
	}
	var either struct {
		Scheduler *yaml.Node `yaml:"scheduler"`
	}
	if yaml.Unmarshal(data, &either) == nil && either.Scheduler != nil {
		c, err := LoadConfig(file)
		return c.scheduler, err
	}
	return controller.LoadOnceConfig(file)
}
