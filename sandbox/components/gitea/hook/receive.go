package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// batch is how many refs Gitea takes at a time.
const batch = 500

// hook is one run of a hook.
type hook struct {
	settings
	env  func(string) string
	in   io.Reader // from git: a line "OLD NEW REF" for each ref
	talk io.Writer // shown to who pushes
}

// change is one ref that is pushed.
type change struct{ old, new, ref string }

// options are the body of both calls. The names are Gitea's.
type options struct {
	OldCommitIDs                    []string
	NewCommitIDs                    []string
	RefFullNames                    []string
	UserID                          int64
	UserName                        string
	GitObjectDirectory              string
	GitAlternativeObjectDirectories string
	GitQuarantinePath               string
	GitPushOptions                  map[string]string
	PullRequestID                   int64
	PushTrigger                     string
	DeployKeyID                     int64
	IsWiki                          bool
	ActionsTaskID                   int64
}

// result is Gitea's answer after a push.
type result struct {
	Results []struct {
		Message bool // it is to be shown
		Create  bool // a pull request could be created; else one exists
		Branch  string
		URL     string
	}
	RepoWasEmpty bool
}

// preReceive asks Gitea whether the push is allowed.
func (h hook) preReceive() error {
	changes, err := h.changes()
	if err != nil {
		return err
	}
	o := h.options()
	o.DeployKeyID, o.ActionsTaskID = h.number("GITEA_DEPLOY_KEY_ID"), h.number("GITEA_ACTIONS_TASK_ID")
	for _, o := range batches(o, changes) {
		if err := h.call("pre-receive", o, nil); err != nil {
			return err
		}
	}
	return nil
}

// postReceive reports to Gitea what has been pushed; webhooks, pull requests and
// workflows follow from that.
func (h hook) postReceive() error {
	if err := updateServerInfo(); err != nil {
		return err
	}
	changes, err := h.changes()
	if err != nil {
		return err
	}
	o := h.options()
	o.UserName, o.PushTrigger = h.env("GITEA_PUSHER_NAME"), h.env("GITEA_PUSH_TRIGGER")
	wasEmpty := false
	for _, o := range batches(o, changes) {
		var r result
		if err := h.call("post-receive", o, &r); err != nil {
			return err
		}
		wasEmpty = wasEmpty || r.RepoWasEmpty
		h.show(r)
	}
	if wasEmpty && len(changes) > 0 && changes[0].ref == "refs/heads/master" && strings.Trim(changes[0].new, "0") != "" {
		// the first push decides that the default branch is not main
		return h.post("set-default-branch/"+h.repository()+"/master", nil, nil)
	}
	return nil
}

// changes reads the pushed refs from git. A wiki's pushes concern nobody.
func (h hook) changes() ([]change, error) {
	var all []change
	lines := bufio.NewScanner(h.in)
	for lines.Scan() {
		f := strings.Split(lines.Text(), " ")
		if len(f) == 3 && !h.wiki() {
			all = append(all, change{f[0], f[1], f[2]})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what git pushes: %w", err)
	}
	return all, nil
}

func (h hook) options() options {
	return options{
		UserID:                          h.number("GITEA_PUSHER_ID"),
		GitObjectDirectory:              h.env("GIT_OBJECT_DIRECTORY"),
		GitAlternativeObjectDirectories: h.env("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
		GitQuarantinePath:               h.env("GIT_QUARANTINE_PATH"),
		GitPushOptions:                  map[string]string{},
		PullRequestID:                   h.number("GITEA_PR_ID"),
		IsWiki:                          h.wiki(),
	}
}

func (h hook) wiki() bool {
	wiki, _ := strconv.ParseBool(h.env("GITEA_REPO_IS_WIKI"))
	return wiki
}

func (h hook) number(name string) int64 {
	n, _ := strconv.ParseInt(h.env(name), 10, 64)
	return n
}

// batches spreads the changes over as many calls as Gitea needs.
func batches(o options, changes []change) []options {
	var all []options
	for len(changes) > 0 {
		some := changes[:min(batch, len(changes))]
		changes = changes[len(some):]
		o.OldCommitIDs, o.NewCommitIDs, o.RefFullNames = nil, nil, nil
		for _, c := range some {
			o.OldCommitIDs = append(o.OldCommitIDs, c.old)
			o.NewCommitIDs = append(o.NewCommitIDs, c.new)
			o.RefFullNames = append(o.RefFullNames, c.ref)
		}
		all = append(all, o)
	}
	return all
}

func (h hook) show(r result) {
	for _, b := range r.Results {
		switch {
		case b.Message && b.Create:
			fmt.Fprintf(h.talk, "\nOpen a pull request for %s:\n  %s\n\n", b.Branch, b.URL)
		case b.Message:
			fmt.Fprintf(h.talk, "\nThe pull request of %s:\n  %s\n\n", b.Branch, b.URL)
		}
	}
}

func (h hook) repository() string {
	return url.PathEscape(h.env("GITEA_REPO_USER_NAME")) + "/" + url.PathEscape(h.env("GITEA_REPO_NAME"))
}

func (h hook) call(name string, o options, into any) error {
	return h.post(name+"/"+h.repository(), o, into)
}

// direct goes through no proxy. There is no limit on the time: Gitea may have
// much to look at, and git waits as well.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (h hook) post(path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, h.URL+"api/internal/hook/"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Real-IP", "127.0.0.1")
	r.Header.Set("X-Gitea-Internal-Auth", "Bearer "+h.Token)
	response, err := direct.Do(r)
	if err != nil {
		return fmt.Errorf("Gitea does not answer: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("Gitea's answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		var refused struct {
			UserMsg string `json:"user_msg"`
		}
		if json.Unmarshal(answer, &refused) == nil && refused.UserMsg != "" {
			return errors.New(refused.UserMsg)
		}
		return fmt.Errorf("Gitea answers %s", response.Status)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("Gitea's answer: %w", err)
	}
	return nil
}
