package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// deadline is for everything that a test waits for.
const deadline = 2 * time.Minute

// hub is a hub with a small fleet: two environments, three clusters, two workspaces.
type hub struct {
	*testing.T
	store    *store.Store
	registry *prometheus.Registry
	server   *httptest.Server
	owner    string // a token
	database string
}

func newHub(t *testing.T, changes ...func(*api.Options)) *hub {
	t.Helper()
	h := &hub{T: t, database: filepath.Join(t.TempDir(), "hub.db"), registry: prometheus.NewRegistry()}
	h.open()
	h.apply(fleetOf(placement.OK, ""))
	h.server = httptest.NewServer(h.handler(changes...))
	t.Cleanup(h.server.Close)
	h.owner = h.token("owner", api.Owner, store.Scope{})
	return h
}

func (h *hub) open() {
	h.Helper()
	var err error
	if h.store, err = store.Open(h.Context(), store.Options{SQLite: h.database}); err != nil {
		h.Fatal(err)
	}
	opened := h.store
	h.Cleanup(func() { _ = opened.Close() }) // some tests close it themselves
}

func (h *hub) handler(changes ...func(*api.Options)) http.Handler {
	h.Helper()
	o := api.Options{
		Store: h.store, Model: platform{}, Hosts: []string{"127.0.0.1"}, Registry: h.registry, Log: slog.New(slog.NewTextHandler(h.Output(), nil)),
		Links: map[string]string{"forge": "http://localhost:3000"},
	}
	for _, change := range changes {
		change(&o)
	}
	handler, err := api.New(o)
	if err != nil {
		h.Fatal(err)
	}
	return handler
}

func (h *hub) apply(r store.Round) {
	h.Helper()
	if _, err := h.store.Apply(h.Context(), r); err != nil {
		h.Fatal(err)
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

// answer is what a request got.
type answer struct {
	*http.Response
	body []byte
}

// problem is the answer as a problem document.
func (a answer) problem() (p api.Problem) {
	if a.Header.Get("Content-Type") == "application/problem+json" {
		_ = json.Unmarshal(a.body, &p) // what is none has no type
	}
	return p
}

// do sends a request, by default with the owner's token. Options change it.
func (h *hub) do(method, path string, body string, changes ...func(*http.Request)) answer {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.owner)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(r)
	}
	client := http.Client{Transport: h.server.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	all, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer{res, all}
}

// get reads a document.
func get[D any](h *hub, path string, changes ...func(*http.Request)) (d D) {
	h.Helper()
	a := h.do(http.MethodGet, path, "", changes...)
	if a.StatusCode != http.StatusOK {
		h.Fatalf("%s: %s: %s", path, a.Status, a.body)
	}
	in := json.NewDecoder(bytes.NewReader(a.body))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		h.Fatalf("%s: %v: %s", path, err, a.body)
	}
	return d
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func as(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func nobody(r *http.Request) { r.Header.Del("Authorization") }

// audit is the newest entries of the audit.
func (h *hub) audit(n int) []store.Entry {
	h.Helper()
	list, err := h.store.AuditLog(h.Context(), store.Page{Limit: n})
	if err != nil {
		h.Fatal(err)
	}
	return list.Items
}

const reason = "<script>alert(1)</script> \x1b[31mred\x1b[0m"

// fleetOf is a round of the whole fleet; web-east is in a state on every cluster.
func fleetOf(state placement.State, why string) store.Round {
	now := time.Now()
	r := store.Round{At: now, Placements: map[string][]store.Placement{}, Policies: map[string]store.PolicyPositions{}, Problems: map[string][]store.Problem{}, PullRequests: map[string][]store.PullRequest{}}
	for i, name := range []string{"dev", "stage"} {
		r.Environments = append(r.Environments, store.Environment{
			Name: name, ControlPlane: "https://forge/platform", ControlPlaneBranch: name, Commit: "c0ffee", GitOpsRepo: "https://forge/gitops",
			GitOpsBranch: name, GitOpsRoot: ".", GitOpsCommit: "decade", Position: i, Plan: "synced",
		})
		for j, cluster := range []string{"drone", "large", "small"} {
			for target, workspace := range map[string]string{"web-east": "team-a", "jobs-batch": "team-b"} {
				p := store.Placement{Placement: placement.Placement{
					Cluster: cluster, Environment: name, ClusterType: []string{"edge", "cloud", "cloud"}[j], Target: target, State: placement.OK,
					Desired: placement.Revision{Repo: "https://forge/app", Branch: "dev", Commit: "abcdef0123", Version: "1.2.3"},
					Actual:  placement.Revision{Repo: "https://forge/app", Branch: "dev", Commit: "abcdef0123", Version: "1.2.3"}, Since: now.Add(-time.Hour), AsOf: now,
				}, Workload: strings.Split(target, "-")[0], Workspace: workspace, Policies: []string{"everywhere"}}
				if target == "web-east" {
					p.State, p.Reason = state, why
				}
				r.Placements[name] = append(r.Placements[name], p)
			}
		}
		r.Policies[name] = store.PolicyPositions{"everywhere": "policies.yaml:3"}
		r.Problems[name] = []store.Problem{{Environment: name, Severity: "warning", Position: "config.yaml:3", Message: "no schema", Hint: "add one"}}
		r.PullRequests[name] = []store.PullRequest{{Environment: name, Repo: "https://forge/gitops", Number: i + 1, Kind: "platform", Title: "Update " + name, State: "open", Author: "bot", URL: "https://forge/pr", Opened: time.Unix(1700000000, 0)}}
	}
	for _, name := range []string{"drone", "large", "small"} {
		r.Clusters = append(r.Clusters, store.Cluster{
			Name: name, Labels: map[string]string{"region": "west"}, Source: "kubernetes", Reconciler: "flux", LastSeen: now,
			Subscriptions: []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Repo: "https://forge/gitops", Branch: "dev", Path: "edge", State: fleet.NonCompliant, Reason: reason}},
		})
	}
	r.Sources = []store.Source{{Name: "git", State: "ok", LastOK: now, LastTry: now, Took: time.Second}}
	return r
}

// platform is a model with a secret in it.
type platform struct{}

const secretValue = "hunter2-hunter2"

func (platform) Explain(_ context.Context, environment, target, clusterType string) (*explain.Explanation, error) {
	if target != "web-east" && target != "jobs-batch" {
		return nil, &explain.InputError{Message: "there is no deployment target " + target, Hint: "did you mean web-east?", NoTarget: true}
	}
	e := &explain.Explanation{Environment: environment, Target: explain.Target{Name: target, Workspace: map[string]string{"web-east": "team-a", "jobs-batch": "team-b"}[target]}}
	if clusterType != "" {
		e.Pair = &explain.Pair{
			Config: []explain.Value{
				{Key: "DB_PASSWORD", Value: secretValue, Sources: []explain.Source{{ConfigMap: "c", Value: secretValue}}},
				{Key: "database", Value: "host: db\npassword: " + secretValue + "\n", Sources: []explain.Source{{Value: "{env: [{name: API_TOKEN, value: " + secretValue + "}]}"}},
					Parts: []explain.Part{{Path: "password", Value: secretValue}}},
				{Key: "REGION", Value: "west"},
			},
			Schemas:  []explain.Schema{{Of: "web", Findings: []string{"DB_PASSWORD: " + secretValue + " is too short"}}},
			Problems: []explain.Problem{{Message: "value " + secretValue + " is not allowed"}},
		}
	}
	return e, nil
}

func (platform) Configuration(_ context.Context, environment, commit string) (history.Configuration, error) {
	if environment == "prod" {
		return history.Configuration{}, errors.New("the model cannot be loaded")
	}
	region := map[string]string{"dev": "west", "stage": "east"}[environment]
	if commit != "" {
		region += " at " + commit
	}
	found := history.Configuration{Changed: map[string]bool{"jobs-batch": true}}
	for _, target := range []string{"web-east", "jobs-batch"} {
		for _, clusterType := range []string{"edge", "cloud"} {
			for key, value := range map[string]string{"DB_PASSWORD": secretValue + environment, "REGION": region, "SAME": "same"} {
				if target == "web-east" || key == "SAME" {
					found.Values = append(found.Values, history.ConfigValue{
						ClusterType: clusterType, Target: target, Key: key, Value: value, ConfigMap: "c", Position: model.Position{File: "config.yaml", Line: 7},
					})
				}
			}
		}
	}
	return found, nil
}

func (platform) Objects(_ context.Context, environment, kind string) ([]any, error) {
	switch kind {
	case "targets":
		return []any{
			view.TargetDocument{Environment: environment, Target: plan.Target{Name: "web-east", Workload: "web", Workspace: "team-a", Labels: map[string]string{}}},
			view.TargetDocument{Environment: environment, Target: plan.Target{Name: "jobs-batch", Workload: "jobs", Workspace: "team-b", Labels: map[string]string{}}},
		}, nil
	case "assignments":
		var all []any
		for _, target := range []string{"web-east", "jobs-batch"} {
			all = append(all, view.AssignmentDocument{Environment: environment, Assignment: plan.Assignment{
				ClusterType: "edge", Target: target, Policies: []string{"everywhere"}, Files: []string{},
				Config: []plan.ConfigValue{{Key: "db-password", Value: secretValue, Source: plan.ConfigSource{Value: secretValue}, Sources: []plan.ConfigSource{{ConfigMap: "c", Value: secretValue}}}},
			}})
		}
		return all, nil
	case "configs":
		return []any{view.ObjectDocument{Environment: environment, Name: "c", Spec: model.ConfigMap{Data: map[string]string{"CONNECTION_STRING": secretValue, "REGION": "west"}}}}, nil
	case "registrations":
		var all []any
		for name, workspace := range map[string]string{"web": "team-a", "jobs": "team-b"} {
			all = append(all, view.ObjectDocument{Environment: environment, Name: name, Spec: v1alpha1.WorkloadRegistrationSpec{Workspace: workspace}})
		}
		return all, nil
	}
	return []any{view.ObjectDocument{Environment: environment, Name: fmt.Sprint("one of ", kind), Spec: struct{}{}}}, nil
}
