package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/kalypso-dev/kalypso/sandbox/loopback"
)

// maxWorkflow bounds a workflow file.
const maxWorkflow = 1 << 20

// original is the job as the file in the repository has it: Gitea leaves out
// of what it sends the job's environment, its continue-on-error, and a matrix
// that it cannot make jobs of. It is the job as sent where there is no file.
func (r *Runner) original(ctx context.Context, t task, sent *Job) (*Job, error) {
	file, content, err := r.workflowFile(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("read the workflow's file: %w", err)
	}
	if content == nil {
		return sent, nil
	}
	job, err := Parse(content, sent.ID)
	var placed *placedError
	if errors.As(err, &placed) {
		return nil, fmt.Errorf("%s:%d: %w", file, placed.line, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return job, nil
}

// workflowFile reads the task's workflow as it is in the repository, with the
// job's own token; nil when it is nowhere.
func (r *Runner) workflowFile(ctx context.Context, t task) (file string, content []byte, err error) {
	for _, dir := range []string{".gitea/workflows/", ".github/workflows/"} {
		address := r.Config.URL + "/api/v1/repos/" + t.text("repository") + "/raw/" + dir +
			url.PathEscape(t.text("workflow")) + "?ref=" + url.QueryEscape(t.text("sha"))
		content, err := readRaw(ctx, address, t.text("token"))
		if content != nil || err != nil {
			return dir + t.text("workflow"), content, err
		}
	}
	return "", nil, nil
}

func readRaw(ctx context.Context, address, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "token "+token)
	response, err := loopback.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(io.LimitReader(response.Body, maxWorkflow))
	case http.StatusNotFound:
		return nil, nil
	}
	return nil, fmt.Errorf("%s answers %s", address, response.Status)
}
