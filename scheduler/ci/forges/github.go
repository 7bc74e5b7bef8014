package forges

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/githttp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const (
	gitHubAPI     = "https://api.github.com"
	gitHubVersion = "2022-11-28"
	cacheBytes    = 128 << 20
	maxAnswer     = 8 << 20
)

// gitHub is one account's view of GitHub. It speaks the API by hand: the verbs
// need seven requests of it, and the client of all others would make the
// program several megabytes larger.
type gitHub struct {
	server, api, token string
	http               *http.Client
	git                *githttp.Client
}

var _ ci.Forge = (*gitHub)(nil)

func newGitHub(e ci.Environment) (*gitHub, error) {
	api := e.API
	if api == "" {
		api = gitHubAPI
	}
	if u, err := url.Parse(api); err != nil || u.Host == "" {
		return nil, &ci.UsageError{Message: fmt.Sprintf("GITHUB_API_URL %q is no URL", api)}
	}
	client := &http.Client{}
	return &gitHub{server: e.Server, api: api, token: e.Token, http: client, git: githttp.New(client, cacheBytes)}, nil
}

// remote is a repository for git. The token goes to this server only.
func (g *gitHub) remote(cloneURL string) githttp.Remote {
	r := githttp.Remote{URL: cloneURL}
	if strings.HasPrefix(cloneURL, g.server+"/") {
		r.Auth = &githttp.Auth{User: "x-access-token", Password: g.token}
	}
	return r
}

func (g *gitHub) own(repo string) githttp.Remote { return g.remote(g.server + "/" + repo) }

// Read implements ci.Forge.
func (g *gitHub) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	tree, err := g.git.Tree(ctx, g.remote(ref.Repo), ref.Branch, ref.Commit)
	if err != nil {
		return nil, err
	}
	tree.Repo = ref.Repo
	return tree, nil
}

// Head implements ci.Forge.
func (g *gitHub) Head(ctx context.Context, ref model.Reference) (string, error) {
	if ref.Commit != "" {
		return ref.Commit, nil
	}
	return g.git.Head(ctx, g.remote(ref.Repo), ref.Branch)
}

// Commit implements ci.Forge.
func (g *gitHub) Commit(ctx context.Context, repo string, request forge.CommitRequest) (string, error) {
	return g.git.Commit(ctx, g.own(repo), request)
}

// DeleteBranch implements ci.Forge.
func (g *gitHub) DeleteBranch(ctx context.Context, repo, branch string) error {
	if !forge.OwnBranch(branch) {
		return fmt.Errorf("branch %s is not below %s", branch, forge.BranchPrefix)
	}
	return g.git.Delete(ctx, g.own(repo), branch)
}

// SetStatus implements ci.Forge.
func (g *gitHub) SetStatus(ctx context.Context, repo, commit string, s forge.Status) error {
	_, err := g.call(ctx, http.MethodPost, "/repos/"+repo+"/statuses/"+commit, map[string]string{
		"state": string(s.State), "context": s.Context, "description": s.Description, "target_url": s.URL,
	}, nil)
	return err
}

// Label implements ci.Actor. GitHub makes the labels that are missing.
func (g *gitHub) Label(ctx context.Context, repo string, number int, labels []string) error {
	_, err := g.call(ctx, http.MethodPost, fmt.Sprintf("/repos/%s/issues/%d/labels", repo, number), map[string][]string{"labels": labels}, nil)
	return err
}

// StartWorkflow implements ci.Actor.
func (g *gitHub) StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error {
	_, err := g.call(ctx, http.MethodPost, "/repos/"+repo+"/actions/workflows/"+url.PathEscape(file)+"/dispatches",
		map[string]any{"ref": ref, "inputs": inputs}, nil)
	return err
}

// call makes a request and reads its answer, where out is not nil. It returns
// the status of an answer that is an error's, 0 when there is none.
func (g *gitHub) call(ctx context.Context, method, path string, in, out any) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%w: no answer from %s within %s", githttp.ErrNetwork, g.api, callTimeout))
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.api+path, body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("Authorization", "Bearer "+g.token)
	request.Header.Set("X-GitHub-Api-Version", gitHubVersion)
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := g.http.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return 0, cause
		}
		return 0, fmt.Errorf("%w: %w", githttp.ErrNetwork, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", githttp.ErrNetwork, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return response.StatusCode, statusError(response.StatusCode, gitHubMessage(data, response.Status))
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			return 0, fmt.Errorf("answer of %s%s: %w", g.api, path, err)
		}
	}
	return 0, nil
}

// gitHubMessage is the reason in an answer that is an error's.
func gitHubMessage(body []byte, status string) error {
	var answer struct {
		Message string `json:"message"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Message == "" {
		return fmt.Errorf("GitHub answers %s", status)
	}
	message := answer.Message
	for _, e := range answer.Errors {
		if e.Message != "" {
			message += ": " + e.Message
		}
	}
	return fmt.Errorf("GitHub says %q", message)
}
