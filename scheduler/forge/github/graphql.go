package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge/githttp"
)

// reading marks a request that changes nothing although it is a POST: it need
// not keep the pace of writes, and may be made again.
type reading struct{}

func onlyReads(q *http.Request) bool {
	return q.Method == http.MethodGet || q.Method == http.MethodHead || q.Context().Value(reading{}) != nil
}

// graphQL makes a request of the GraphQL API, which answers 200 also where it
// refuses. data gets what it answers, and may be nil.
func (f *Forge) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	err := f.call(ctx, func() (*sdk.Response, error) {
		q, err := f.client.NewRequest(ctx, http.MethodPost, graphQL(f.api), map[string]any{"query": query, "variables": variables})
		if err != nil {
			return nil, err
		}
		return f.client.Do(q, &answer)
	})
	switch {
	case err != nil:
		return err
	case len(answer.Errors) == 0 && data != nil:
		if err := json.Unmarshal(answer.Data, data); err != nil {
			return fmt.Errorf("GitHub's answer to a GraphQL query: %w", err)
		}
		return nil
	case len(answer.Errors) == 0:
		return nil
	}
	e := &Error{Status: http.StatusOK, Hint: "give the account write access to pull requests of the repository"}
	var texts []string
	for _, one := range answer.Errors {
		texts = append(texts, one.Message)
		if one.Type == "FORBIDDEN" {
			e.kind = githttp.ErrDenied
		}
	}
	e.Message = strings.Join(texts, "; ")
	return e
}

// What one query asks for: GitHub gives up on what takes it ten seconds.
const (
	batchFiles = 50
	batchBytes = 1 << 20
	batchLarge = 256 << 10 // a file that is larger is fetched alone
)

// batches divides the blobs that are asked for together, by their sizes.
func batches(ids []string, size map[string]int) (list [][]string) {
	bytes := 0
	for _, id := range ids {
		if size[id] > batchLarge {
			continue
		}
		if n := len(list); n == 0 || len(list[n-1]) == batchFiles || bytes+size[id] > batchBytes {
			list, bytes = append(list, nil), 0
		}
		list[len(list)-1] = append(list[len(list)-1], id)
		bytes += size[id]
	}
	return list
}

// prefetch fetches many files by one query. What is missing afterwards, because
// it is no text or was cut off, is to be fetched alone: the IDs tell.
func (f *Forge) prefetch(ctx context.Context, owner, name string, ids []string) error {
	var query strings.Builder
	query.WriteString("query($owner:String!,$name:String!){repository(owner:$owner,name:$name){")
	for i, id := range ids {
		fmt.Fprintf(&query, "b%d:object(oid:%q){...on Blob{text}}", i, id)
	}
	query.WriteString("}}")
	var answer struct {
		Repository map[string]struct {
			Text string `json:"text"`
		} `json:"repository"`
	}
	ctx = context.WithValue(ctx, reading{}, true)
	if err := f.graphQL(ctx, query.String(), map[string]any{"owner": owner, "name": name}, &answer); err != nil {
		return err
	}
	for i, id := range ids {
		content := []byte(answer.Repository[fmt.Sprintf("b%d", i)].Text)
		if blobID(content) == id {
			f.blobs.put(id, content)
		}
	}
	return nil
}
