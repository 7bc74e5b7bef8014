package stack

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/workshop"
)

// webhookPath is also the scheduler's.
const webhookPath = "/webhook"

// hook is the forge's only one. Its events are the pushes, all that can change a
// pull request or an issue of the scheduler's, and the jobs of workflows.
func (st *Stack) hook() gitea.Hook {
	s := st.state
	return gitea.Hook{
		URL:    "http://" + s.Address("notifier") + webhookPath,
		Secret: s.WebhookSecret,
		Events: []string{"push", "create", "delete", "pull_request", "pull_request_label", "issues", "workflow_job"},
		// an older kalypso had one for each receiver
		Replaces: []string{
			"http://" + s.Address("scheduler") + webhookPath,
			"http://" + s.Address("runner") + webhookPath,
			"http://" + s.Address("notifier") + "/",
		},
	}
}

// recoveryPause is between two looks at what Argo CD does not do by itself.
const recoveryPause = 3 * time.Second

// notifierUnit receives the forge's webhooks.
func (st *Stack) notifierUnit() supervisor.Unit {
	component := serve(st.state.Address("notifier"), st.webhooks(&gitops.Notifier{Followers: st.followers, Others: st.notifyOthers, Log: st.log}))
	listen := component.Run
	component.Run = func(ctx context.Context, say func(string), ready func()) error {
		ctx, cancel := context.WithCancel(ctx)
		var recovering sync.WaitGroup
		defer recovering.Wait()
		defer cancel()
		recovering.Go(func() { st.recoverApplications(ctx) })
		return listen(ctx, say, ready)
	}
	return supervisor.Unit{Name: "notifier", Title: "hands the forge's webhooks on", Deadline: subscribeDeadline, Component: component}
}

// notifyOthers hands a push to what follows and has no API.
func (st *Stack) notifyOthers(repository, branch string) {
	st.virtual.Notify(repository, branch)
	st.hosts.Notify(repository, branch)
}

// recoverApplications looks at the clusters with Argo CD until ctx ends. One that
// does not answer has nothing to recover now.
func (st *Stack) recoverApplications(ctx context.Context) {
	for retry.Sleep(ctx, recoveryPause) == nil {
		for _, c := range st.state.Clusters() {
			if c.Reconciler != workshop.ArgoCD {
				continue
			}
			client, err := st.client(c.Name)
			if err != nil {
				continue
			}
			short, cancel := context.WithTimeout(ctx, recoveryPause)
			recovered, err := gitops.RecoverArgoCD(short, client, func(url string) bool { return !st.attached.Has(c.Name) || st.onForge(url) })
			cancel()
			if len(recovered) > 0 {
				st.log.Info("sync ended or started where Argo CD does not", "cluster", c.Name, "applications", recovered, "error", err)
			}
		}
	}
}

// onForge reports whether a URL is one of the sandbox's forge.
func (st *Stack) onForge(url string) bool { return strings.HasPrefix(url, st.state.ForgeURL()+"/") }

// webhooks hands each webhook that is signed to the runner, the hub and the scheduler, and
// a push to the reconcilers as well. The forge gets the scheduler's answer; what
// the others miss they find by polling.
func (st *Stack) webhooks(reconcilers *gitops.Notifier) http.Handler {
	scheduler := &httputil.ReverseProxy{
		Transport: loopback.Client.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: st.state.Address("scheduler")})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			st.log.Warn("webhook not handed to the scheduler", "reason", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+webhookPath, forge.Webhooks(st.state.WebhookSecret, nil, func(w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Header.Get("X-Gitea-Event") == "push" {
			go reconcilers.Notify(body)
		}
		go st.wakeRunner()
		go st.notifyHub(r.Header.Clone(), body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		scheduler.ServeHTTP(w, r)
	}))
	return mux
}

// wakeRunner makes the runner ask the forge for work now: a job waits, or a push
// will make one within a third of a second.
func (st *Stack) wakeRunner() {
	_, err := loopback.Call(context.Background(), http.MethodPost, "http://"+st.state.Address("runner")+"/wake", st.state.WebhookSecret)
	if err != nil {
		st.log.Warn("runner not woken", "reason", err)
	}
}
