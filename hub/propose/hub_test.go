package propose_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/collect"
	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

// The repositories of the platform in testdata.
const (
	control = "acme/control"
	gitOps  = "acme/gitops"
)

// deadline is for everything that a test waits for.
const deadline = time.Minute

// hub is a hub with a forge, a control plane and an application. No cluster is observed.
type hub struct {
	*testing.T
	forge     *githubfake.Server
	store     *store.Store
	collector *collect.Collector
	registry  *prometheus.Registry
	server    *httptest.Server
	owner     string // a token
	bot       *githubfake.User
}

func newHub(t *testing.T, changes ...func(*api.Options)) *hub {
	t.Helper()
	h := &hub{T: t, forge: githubfake.Start(t), registry: prometheus.NewRegistry()}
	h.push("testdata/platform.txtar")
	h.bot = h.forge.User("hub")
	t.Setenv("KALYPSO_TEST_TOKEN", h.bot.Token)
	var err error
	if h.store, err = store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.store.Close() }) // it is asked no more
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	scheduler := controller.Config{
		Forge:         controller.ForgeConfig{Type: controller.GitHub, URL: h.forge.URL, TokenEnv: "KALYPSO_TEST_TOKEN"},
		ControlPlane:  controller.ControlPlaneConfig{Repo: h.forge.CloneURL(control)},
		WebhookSecret: "s3cret",
	}
	h.collector, err = collect.New(collect.Options{Store: h.store, Scheduler: scheduler, Poll: time.Hour, Mirrors: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.collector.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the collector ends with %v", err)
		}
	})
	o := api.Options{
		Store: h.store, Model: h.collector, Hosts: []string{"127.0.0.1"}, Registry: h.registry, Log: log,
		Proposals: &api.Proposals{Platform: h.collector, Forge: h.collector.Forge(), Repositories: h.collector.Repositories, Key: h.collector.Key()},
	}
	for _, change := range changes {
		change(&o)
	}
	handler, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewServer(handler)
	t.Cleanup(h.server.Close)
	h.owner = h.token("owner", api.Owner, store.Scope{})
	h.await("the environment is known", func() bool {
		list, err := h.store.Environments(t.Context(), store.Scope{})
		return err == nil && len(list) == 1 && list[0].Commit != ""
	})
	return h
}

// push brings the forge to an archive, whose files are named repository@branch/path.
func (h *hub) push(archive string) {
	h.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		h.Fatal(err)
	}
	type branch struct{ repo, name string }
	files := map[branch]map[string]string{}
	var order []branch
	for _, f := range a.Files {
		at, path, _ := strings.Cut(f.Name, "/")
		repo, name, _ := strings.Cut(at, "@")
		b := branch{"acme/" + repo, name}
		if files[b] == nil {
			files[b] = map[string]string{}
			order = append(order, b)
		}
		files[b][path] = strings.ReplaceAll(string(f.Data), "FORGE", h.forge.URL)
	}
	for _, b := range order {
		h.forge.Push(b.repo, b.name, files[b])
	}
}

func (h *hub) token(name string, role api.Role, scope store.Scope) string {
	h.Helper()
	secret, err := h.store.CreateToken(h.Context(), store.Token{Name: name, Role: string(role), Scope: scope})
	if err != nil {
		h.Fatal(err)
	}
	return secret
}

func (h *hub) await(what string, done func() bool) {
	h.Helper()
	for end := time.Now().Add(deadline); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			h.Fatalf("waited %s until %s", deadline, what)
		}
	}
}

// seen has the hub look at what was pushed, as the forge's webhooks do, and waits until it has.
func (h *hub) seen() {
	h.Helper()
	for _, repo := range []string{control, gitOps} {
		body, err := json.Marshal(object{"repository": object{"clone_url": h.forge.CloneURL(repo)}})
		if err != nil {
			h.Fatal(err)
		}
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write(body)
		q := httptest.NewRequestWithContext(h.Context(), http.MethodPost, "/", bytes.NewReader(body))
		q.Header.Set("X-GitHub-Event", "push")
		q.Header.Set("X-GitHub-Delivery", rand.Text())
		q.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer := httptest.NewRecorder()
		if h.collector.Webhook().ServeHTTP(answer, q); answer.Code != http.StatusAccepted {
			h.Fatalf("the webhook is answered with %d: %s", answer.Code, answer.Body)
		}
	}
	h.await("the hub knows what was pushed", func() bool {
		list, err := h.store.Environments(h.Context(), store.Scope{})
		return err == nil && list[0].Commit == h.forge.Branch(control, "dev") && list[0].GitOpsCommit == h.forge.Branch(gitOps, "dev")
	})
}

// reply is what a request got.
type reply struct {
	*http.Response
	body []byte
}

func (r reply) problem() (p api.Problem) {
	_ = json.Unmarshal(r.body, &p) // what is none has no type
	return p
}

// location is where in the request the first mistake is.
func (r reply) location() string {
	if p := r.problem(); len(p.Errors) > 0 {
		return p.Errors[0].Location
	}
	return ""
}

func (h *hub) do(method, path string, body any, headers ...string) reply {
	h.Helper()
	var sent []byte
	switch b := body.(type) {
	case nil:
	case string:
		sent = []byte(b)
	default:
		var err error
		if sent, err = json.Marshal(b); err != nil {
			h.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(h.Context(), deadline)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, h.server.URL+"/api/v1"+path, bytes.NewReader(sent))
	if err != nil {
		h.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+h.owner)
	if sent != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := h.server.Client().Do(q)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	all, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return reply{res, all}
}

// read is the document that a request is answered with.
func read[D any](h *hub, status int, r reply) (d D) {
	h.Helper()
	if r.StatusCode != status {
		h.Fatalf("%s %s: %s: %s", r.Request.Method, r.Request.URL.Path, r.Status, r.body)
	}
	in := json.NewDecoder(bytes.NewReader(r.body))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		h.Fatalf("%v: %s", err, r.body)
	}
	return d
}

type object = map[string]any

// removeLabel is the edit of the tests: the policy edge selects small by it.
var removeLabel = []object{{"operation": "removeLabel", "kind": "ClusterType", "name": "small", "key": "edge"}}

func (h *hub) plan(edits []object, query ...string) propose.Plan {
	h.Helper()
	return read[propose.Plan](h, http.StatusOK, h.do(http.MethodPost, "/plans"+strings.Join(query, ""), object{"environment": "dev", "edits": edits}))
}
