package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// reading marks a request that changes nothing although it is a POST: it need
// not keep the pace of writes, and may be made again.
type reading struct{}

func onlyReads(q *http.Request) bool {
	return q.Method == http.MethodGet || q.Method == http.MethodHead || q.Context().Value(reading{}) != nil
}

// graphError is one of the errors of an answer of the GraphQL API. Where a
// service behind the API fails, it has no type.
type graphError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// limits tells whether the error is a rate limit
// (docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api).
func (e graphError) limits() bool {
	return strings.HasPrefix(e.Type, "RATE_LIMIT") || isSecondary(e.Message)
}

// graphQL makes a request of the GraphQL API, which answers 200 also where it
// refuses, and where it fails. data gets what it answers.
func (f *Forge) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []graphError    `json:"errors"`
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
	case len(answer.Errors) > 0:
		return graphRefusal(answer.Errors)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		return fmt.Errorf("GitHub's answer to a GraphQL query: %w", err)
	}
	return nil
}

// graphRefusal words the errors of an answer. The first that has a type says
// what it means.
func graphRefusal(errs []graphError) error {
	e := &Error{Status: http.StatusOK}
	var texts []string
	limited := false
	for _, one := range errs {
		texts = append(texts, one.Message)
		limited = limited || one.limits()
		if e.Type == "" {
			e.Type = one.Type
		}
	}
	e.Message = strings.Join(texts, "; ")
	switch {
	case limited:
		e.Type, e.Hint = "RATE_LIMITED", "wait some minutes"
	case e.Type == "FORBIDDEN":
		e.kind, e.Hint = gitclient.ErrDenied, "give the account write access to contents and pull requests of the repository"
	case e.Type == "INSUFFICIENT_SCOPES":
		e.kind, e.Hint = gitclient.ErrDenied, "give the token the scope repo"
	case e.Type == "NOT_FOUND":
		e.kind, e.Hint = forge.ErrNotFound, "it is not there, or the account may not see it: check that the token or App has access to the repository"
	case e.Type == "":
		e.Hint = "GitHub has a problem, see githubstatus.com: it is tried again"
	default:
		e.Hint = "look at the pull request's page for what is missing: it is tried again"
	}
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
