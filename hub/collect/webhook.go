package collect

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Webhook takes the forge's webhooks, which are signed with the scheduler's secret. It
// wakes the sources that read the repository, and answers.
func (c *Collector) Webhook() http.Handler {
	refused := func(r *http.Request, status int, reason string) {
		c.log.Warn("refused a webhook", "from", r.RemoteAddr, "status", status, "reason", reason)
	}
	return forge.Webhooks(c.secret, refused, func(w http.ResponseWriter, r *http.Request, body []byte) {
		var event struct {
			Repository struct {
				CloneURL string `json:"clone_url"`
			} `json:"repository"`
		}
		if err := json.Unmarshal(body, &event); err != nil || event.Repository.CloneURL == "" {
			http.Error(w, "a webhook is JSON and has repository.clone_url", http.StatusBadRequest)
			return
		}
		kind := cmp.Or(r.Header.Get("X-Gitea-Event"), r.Header.Get("X-GitHub-Event"))
		switch {
		case kind == "push", kind == "create", kind == "delete":
			for _, p := range c.planes {
				p.hint(event.Repository.CloneURL)
				notify(p.source.wake)
			}
		case strings.HasPrefix(kind, "pull_request"), kind == "status":
			c.pulls.hint(event.Repository.CloneURL)
			notify(c.pulls.source.wake)
			if c.scheduler != nil {
				notify(c.scheduler.source.wake)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	})
}
