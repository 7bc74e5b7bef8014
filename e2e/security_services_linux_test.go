//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestServicesAndOtherUsers is what another user of the machine, and a web page
// in a browser of this machine, can do with the sandbox's services: read what
// is open, and nothing else.
func TestServicesAndOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	m := newMachine(t)
	stop := watchCommands(t, m)
	m.up()
	m.settle()
	commands := stop()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"Forge", otherUsersAtTheForge},
		{"ArgoCD", otherUsersAtArgoCD},
		{"Flux", otherUsersAtFlux},
		{"Azure", otherUsersAtAzure},
		{"Webhooks", otherUsersWebhooks},
		{"Socket", otherUsersAtTheSocket},
		{"Commands", func(t *testing.T, m *machine) { noSecretsInCommands(t, m, commands) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
	}
	m.t = t
}

const (
	foreignHost   = "evil.example"
	foreignOrigin = "https://" + foreignHost
)

// attempt is a request of another user of the machine.
type attempt struct {
	name, method, url string
	host              string // "" is that of the URL
	header            map[string]string
	body              string
	codes             []int
	says              string // regular expression; "" for whatever it says
}

// asOtherUser makes the request as nobody does.
func asOtherUser(t *testing.T, a attempt) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), a.method, a.url, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = a.host
	for k, v := range a.header {
		r.Header.Set(k, v)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
		return dialAsNobody(t, network, strings.Replace(address, "localhost", "127.0.0.1", 1))
	}}
	client := &http.Client{
		Transport: transport, Timeout: 15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.url, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func try(t *testing.T, all []attempt) {
	t.Helper()
	for _, a := range all {
		if a.method == "" {
			a.method = http.MethodGet
		}
		code, body := asOtherUser(t, a)
		if !slices.Contains(a.codes, code) {
			t.Errorf("%s: %s %s is answered %d, not one of %v: %.300s", a.name, a.method, a.url, code, a.codes, body)
		}
		if a.says != "" && !regexp.MustCompile(a.says).MatchString(body) {
			t.Errorf("%s: %s %s says nothing like %s: %.300s", a.name, a.method, a.url, a.says, body)
		}
	}
}

var (
	refused   = []int{http.StatusUnauthorized, http.StatusForbidden}
	answered  = []int{http.StatusOK}
	elsewhere = []int{http.StatusMisdirectedRequest}
	missing   = []int{http.StatusNotFound}
	toSignIn  = []int{http.StatusSeeOther, http.StatusFound}
)

// The forge's repositories are open to read, as those of the tutorials are on
// GitHub. A name that leads here from elsewhere shows nothing of them.
func otherUsersAtTheForge(t *testing.T, m *machine) {
	c := m.credentials()
	repo, api := c.OrgURL+"/"+controlPlane, c.URL+"/api/v1"
	foreign := map[string]string{"Origin": foreignOrigin, "Sec-Fetch-Site": "cross-site"}
	form := func(more map[string]string) map[string]string {
		h := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		for k, v := range more {
			h[k] = v
		}
		return h
	}
	login := url.Values{"user_name": {c.User}, "password": {c.Password}}.Encode()
	account := url.Values{"user_name": {"stranger"}, "email": {"s@localhost.localdomain"}, "password": {"12345678"}, "retype": {"12345678"}}.Encode()
	before := m.forgeState()
	try(t, []attempt{
		{name: "open", url: repo, codes: answered},
		{name: "open", url: repo + "/info/refs?service=git-upload-pack", codes: answered},
		{name: "open", url: c.URL + "/api/healthz", codes: answered},
		{name: "foreign name", url: repo, host: foreignHost, codes: elsewhere},
		{name: "foreign name", url: repo + "/info/refs?service=git-upload-pack", host: foreignHost + ":80", codes: elsewhere},
		{name: "foreign name", url: api + "/repos/search", host: "localhost." + foreignHost, codes: elsewhere},
		{name: "foreign name", url: c.URL + "/v2/", host: foreignHost, codes: elsewhere},

		{name: "account", method: http.MethodPost, url: c.URL + "/user/sign_up", header: form(nil), body: account, codes: refused},
		{name: "account", method: http.MethodPost, url: api + "/admin/users", header: map[string]string{"Content-Type": "application/json"}, body: `{"username": "stranger"}`, codes: refused},
		{name: "sign in for another page", method: http.MethodPost, url: c.URL + "/user/login", header: form(foreign), body: login, codes: refused},
		{name: "sign in for another port", method: http.MethodPost, url: c.URL + "/user/login", header: form(map[string]string{"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"}), body: login, codes: refused},
		{name: "push", url: repo + "/info/refs?service=git-receive-pack", codes: refused},
		{name: "push", method: http.MethodPost, url: repo + "/git-receive-pack", codes: refused},
		{name: "write", method: http.MethodPost, url: api + "/repos/kalypso/" + controlPlane + "/contents/x", header: map[string]string{"Content-Type": "application/json"}, body: `{"content": "eA=="}`, codes: refused},
		{name: "write", method: http.MethodPost, url: api + "/repos/kalypso/" + controlPlane + "/issues", header: map[string]string{"Content-Type": "application/json"}, body: `{"title": "x"}`, codes: refused},
		{name: "write", method: http.MethodPost, url: c.URL + "/v2/kalypso/x/blobs/uploads/", codes: refused},
		{name: "write", method: http.MethodPut, url: c.URL + "/api/packages/kalypso/generic/x/1/x", body: "x", codes: refused},
		{name: "start a workflow", method: http.MethodPost, url: api + "/repos/kalypso/" + controlPlane + "/actions/workflows/cd.yaml/dispatches", header: map[string]string{"Content-Type": "application/json"}, body: `{"ref": "main"}`, codes: refused},
		{name: "secrets", url: api + "/orgs/kalypso/actions/secrets", codes: refused},
		{name: "hooks", url: api + "/orgs/kalypso/hooks", codes: refused},
		{name: "administration", url: c.URL + "/-/admin", codes: toSignIn},
		{name: "what hooks of git call", method: http.MethodPost, url: c.URL + "/api/internal/hook/pre-receive/kalypso/" + controlPlane, body: "{}", codes: refused},
		{name: "what hooks of git call", method: http.MethodPost, url: c.URL + "/api/internal/manager/shutdown", header: map[string]string{"X-Gitea-Internal-Auth": "Bearer guess"}, codes: refused},
		{name: "runner", method: http.MethodPost, url: c.URL + "/api/actions/runner.v1.RunnerService/Register", header: map[string]string{"Content-Type": "application/json"}, body: `{"name": "stranger", "token": "guess", "labels": ["host"]}`, codes: []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusInternalServerError}},
		{name: "metrics", url: c.URL + "/metrics", codes: missing},
		{name: "profiles", url: c.URL + "/debug/pprof/", codes: missing},
	})
	if diff := cmp.Diff(before, m.forgeState()); diff != "" {
		t.Errorf("the forge has changed:\n%s", diff)
	}
}

// forgeState is what other users must not change.
func (m *machine) forgeState() map[string]string {
	all := m.heads()
	for _, path := range []string{"admin/users", "admin/actions/runners", "orgs/kalypso/hooks", "repos/kalypso/" + controlPlane + "/issues?state=all", "packages/kalypso"} {
		var list []struct {
			ID int64 `json:"id"`
		}
		text := m.forge(http.MethodGet, path, "")
		if path == "admin/actions/runners" {
			var runners struct{ Runners json.RawMessage }
			m.decode(text, &runners)
			text = string(runners.Runners)
		}
		m.decode(text, &list)
		all[path] = fmt.Sprint(list)
	}
	return all
}

// Argo CD shows its sign-in page, and takes a password from it.
func otherUsersAtArgoCD(t *testing.T, m *machine) {
	at := m.credentials().ArgoCD[0].URL
	const folder = "/tmp/extensions"
	if err := os.Mkdir(folder, 0o755); err == nil { // as anybody may
		t.Cleanup(func() { os.RemoveAll(folder) })
	}
	script := filepath.Join(folder, "extension-of-another-user.js")
	if err := os.WriteFile(script, []byte("extension()"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(script) })

	refreshed := func() string {
		return m.run("kubectl", "--context", "large", "--namespace", "argocd", "get", "applications", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.reconciledAt} {.metadata.annotations}{end}").stdout
	}
	if !strings.Contains(refreshed(), "stage") {
		t.Fatalf("no application to refresh: %q", refreshed())
	}
	push := fmt.Sprintf(`{"ref": "refs/heads/dev", "after": "1", "before": "2", "repository": {"html_url": %q, "default_branch": "dev"}, "commits": []}`, m.credentials().OrgURL+"/kalypso-gitops")
	wrong := `{"username": "admin", "password": "guess"}`
	json := func(more ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	try(t, []attempt{
		{name: "sign-in page", url: at + "/login", header: map[string]string{"Accept": "text/html"}, codes: answered},
		{name: "health", url: at + "/healthz", codes: answered},
		{name: "foreign name", url: at + "/login", host: foreignHost, codes: elsewhere},
		{name: "foreign name", url: at + "/api/v1/settings", host: foreignHost + ":80", codes: elsewhere},
		{name: "guess", method: http.MethodPost, url: at + "/api/v1/session", header: json(), body: wrong, codes: refused},
		{name: "guess of another page", method: http.MethodPost, url: at + "/api/v1/session", header: json("Origin", foreignOrigin), body: wrong, codes: refused, says: "cross-origin"},
		{name: "applications", url: at + "/api/v1/applications", codes: refused},
		{name: "clusters", url: at + "/api/v1/clusters", codes: refused},
		{name: "stream", url: at + "/api/v1/stream/applications", codes: refused},
		{name: "sync", method: http.MethodPost, url: at + "/api/v1/applications/dev/sync", header: json(), body: "{}", codes: refused},
		{name: "delete", method: http.MethodDelete, url: at + "/api/v1/applications/dev", header: json(), codes: refused},
		{name: "terminal", url: at + "/terminal?pod=x&container=x&appName=dev&projectName=default&namespace=x", codes: []int{http.StatusBadRequest}, says: "cookie not found"},
		{name: "webhook", method: http.MethodPost, url: at + "/api/webhook", header: json("X-GitHub-Event", "push"), body: push, codes: refused},
		{name: "webhook", method: http.MethodPost, url: at + "/api/webhook", header: json("X-Gogs-Event", "push"), body: push, codes: refused},
		{name: "script of another user", url: at + "/extensions.js", codes: answered, says: "^$"},
	})
}

// Flux's artifacts are for itself.
func otherUsersAtFlux(t *testing.T, m *machine) {
	text := m.run("kubectl", "--context", "drone", "--namespace", "flux-system", "get", "gitrepository", "dev", "-o", "jsonpath={.status.artifact.url}").stdout
	artifact, err := url.Parse(text)
	if err != nil || artifact.Host == "" {
		t.Fatalf("artifact %q: %v", text, err)
	}
	// that this is where it is shows with the token
	answer, err := http.Get(text)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("Flux itself: %v, %v", answer, err)
	}
	answer.Body.Close()
	artifact.User = nil
	at := "http://" + artifact.Host
	try(t, []attempt{
		{name: "health", url: at + "/healthz", codes: answered},
		{name: "listing", url: at + "/", codes: refused},
		{name: "listing", url: at + "/gitrepository/", codes: refused},
		{name: "listing", url: at + "/", host: foreignHost, header: map[string]string{"Origin": foreignOrigin}, codes: refused},
		{name: "artifact", url: artifact.String(), codes: refused},
		{name: "artifact", url: artifact.String(), host: foreignHost, header: map[string]string{"Origin": foreignOrigin}, codes: refused},
		{name: "metrics", url: at + "/metrics", codes: refused},
	})
}

// The emulated Azure does nothing without its token.
func otherUsersAtAzure(t *testing.T, m *machine) {
	azure := m.credentials().Azure
	subscription := azure.Endpoint + "/subscriptions/" + azure.Subscription
	const version = "?api-version=2024-11-01"
	configuration := subscription + "/resourceGroups/" + azure.ResourceGroup + "/providers/Microsoft.Kubernetes/connectedClusters/drone" +
		"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/dev" + version
	foreign := map[string]string{"Origin": foreignOrigin, "Content-Type": "text/plain"}
	try(t, []attempt{
		{name: "read", url: subscription + version, codes: refused},
		{name: "read", url: configuration, codes: refused},
		{name: "read", url: configuration, host: foreignHost, header: map[string]string{"Authorization": "Bearer guess"}, codes: refused},
		{name: "write", method: http.MethodPut, url: configuration, body: "{}", codes: refused},
		{name: "write of a page", method: http.MethodPut, url: configuration, header: foreign, body: "{}", codes: refused},
		{name: "delete", method: http.MethodDelete, url: configuration, codes: refused},
		{name: "query", method: http.MethodPost, url: azure.Endpoint + "/providers/Microsoft.ResourceGraph/resources" + version, header: foreign, body: "{}", codes: refused},
	})
	m.run("az", "k8s-configuration", "flux", "show", "--name", "dev", "--cluster-name", "drone", "--resource-group", azure.ResourceGroup, "--cluster-type", "connectedClusters")
}

// Only the forge can send webhooks, and only the daemon reads a status.
func otherUsersWebhooks(t *testing.T, m *machine) {
	event := map[string]string{"Content-Type": "application/json", "X-Gitea-Event": "push", "X-Gitea-Signature": strings.Repeat("0", 64), "Origin": foreignOrigin}
	for _, s := range []struct{ name, hook, status string }{{"scheduler", "/webhook", "/status"}, {"runner", "/wake", "/status"}, {"hub", "/hooks/forge", ""}, {"notifier", "/webhook", ""}} {
		at := fmt.Sprintf("http://127.0.0.1:%d", m.ports()[s.name])
		all := []attempt{
			{name: s.name + ": webhook", method: http.MethodPost, url: at + s.hook, body: "{}", codes: refused},
			{name: s.name + ": webhook of a page", method: http.MethodPost, url: at + s.hook, host: foreignHost, header: event, body: "{}", codes: refused},
		}
		if s.status != "" {
			all = append(all,
				attempt{name: s.name + ": health", url: at + "/healthz", codes: answered, says: "^ok\n$"},
				attempt{name: s.name + ": status", url: at + s.status, codes: refused},
				attempt{name: s.name + ": status", url: at + s.status, host: foreignHost, header: map[string]string{"Authorization": "Bearer guess"}, codes: refused},
				attempt{name: s.name + ": metrics", url: at + "/metrics", codes: missing},
				attempt{name: s.name + ": profiles", url: at + "/debug/pprof/", codes: missing})
		}
		try(t, all)
	}
	// the pages of the hub are for everybody who reaches it by its name, and say nothing of
	// what it knows
	hub := fmt.Sprintf("http://127.0.0.1:%d", m.ports()["hub"])
	wrongHost := []int{http.StatusMisdirectedRequest}
	try(t, []attempt{
		{name: "hub: health", url: hub + "/healthz", codes: answered, says: "^ok\n$"},
		{name: "hub: API", url: hub + "/api/v1/placements", codes: refused},
		{name: "hub: API", url: hub + "/api/v1/placements", header: map[string]string{"Authorization": "Bearer guess"}, codes: refused},
		{name: "hub: API", url: hub + "/api/v1/placements", host: foreignHost, codes: wrongHost},
		{name: "hub: guessed ticket", method: http.MethodPost, url: hub + "/enter", header: map[string]string{"Content-Type": "application/json"}, body: `{"ticket":"guess"}`, codes: refused},
		{name: "hub: page", url: hub + "/", host: foreignHost, codes: wrongHost},
		{name: "hub: metrics", url: hub + "/metrics", codes: missing},
		{name: "hub: profiles", url: hub + "/debug/pprof/", codes: missing},
	})
}

// The daemon's socket, and all else in the sandbox's folder, is its owner's.
func otherUsersAtTheSocket(t *testing.T, m *machine) {
	if c, err := dialAsNobody(t, "unix", filepath.Join(m.home, "daemon.sock")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("connected to the daemon: %v, %v", c, err)
	}
	info, err := os.Stat(m.home)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the sandbox's folder: %v, %v", info.Mode(), err)
	}
	asNobody(t, func() {
		for _, file := range []string{"sandbox.json", "kubeconfig", "gitea/tokens/platform", "gitea/app.ini", "scheduler/config.yaml", "hub/hub.db", "hub/scheduler.yaml", "runner/config.json", "logs/daemon.log"} {
			if _, err := os.Open(filepath.Join(m.home, file)); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", file, err)
			}
		}
	})
}

// watchCommands collects what the list of processes shows to everybody of the
// machine's processes, until the function that it returns is called.
func watchCommands(t *testing.T, m *machine) (stop func() [][]byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	seen := map[string]bool{}
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, f := range files {
				if command, err := os.ReadFile(f); err == nil && len(command) > 0 {
					seen[string(command)] = true
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() [][]byte {
		cancel()
		watching.Wait()
		var all [][]byte
		for command := range seen {
			all = append(all, []byte(command))
		}
		return all
	}
}

// noSecretsInCommands wants the accounts to have been made meanwhile.
func noSecretsInCommands(t *testing.T, m *machine, commands [][]byte) {
	b, err := os.ReadFile(filepath.Join(m.home, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"the bearer token of the emulated Azure": m.credentials().Azure.BearerToken}
	var state any
	m.decode(string(b), &state)
	var collect func(name string, v any)
	collect = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, one := range v {
				collect(name+"."+k, one)
			}
		case string:
			if regexp.MustCompile(`(?i)(password|secret|internal|jwt)$`).MatchString(name) {
				secrets["sandbox.json"+name] = v
			}
		}
	}
	collect("", state)
	tokens, err := filepath.Glob(filepath.Join(m.home, "gitea", "tokens", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tokens {
		token, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		secrets[file] = strings.TrimSpace(string(token))
	}
	if len(secrets) < 12 {
		t.Fatalf("only %d secrets are known", len(secrets))
	}
	if !slices.ContainsFunc(commands, func(c []byte) bool { return bytes.Contains(c, []byte("admin\x00user\x00create")) }) {
		t.Error("the forge's first account was not seen being made")
	}
	for _, c := range commands {
		for name, secret := range secrets {
			if bytes.Contains(c, []byte(secret)) {
				t.Errorf("%s is in the list of processes: %s", name, bytes.ReplaceAll(c, []byte{0}, []byte(" ")))
			}
		}
	}
}
