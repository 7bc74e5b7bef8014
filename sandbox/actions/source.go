package actions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/kalypso-dev/kalypso/sandbox/loopback"
)

// maxWorkflow bounds a workflow file.
const maxWorkflow = 1 << 20

// workflowFile reads the task's workflow as it is in the repository, with the
// job's own token; nil when it is nowhere.
func (r *Runner) workflowFile(ctx context.Context, t task) ([]byte, error) {
	for _, dir := range []string{".gitea/workflows/", ".github/workflows/"} {
		address := r.Config.URL + "/api/v1/repos/" + t.text("repository") + "/raw/" + dir +
			url.PathEscape(t.text("workflow")) + "?ref=" + url.QueryEscape(t.text("sha"))
		b, err := readRaw(ctx, address, t.text("token"))
		if b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
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
