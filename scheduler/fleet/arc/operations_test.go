package arc_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc/arctest"
	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

var edge = arc.Cluster{Subscription: east, ResourceGroup: "fleet", Type: arc.ConnectedClusters, Name: "edge-000"}

// wanted is a configuration that follows a branch.
func wanted(branch string) arc.Properties {
	return arc.Properties{
		Scope: "cluster", Namespace: "flux-system", SourceKind: "GitRepository",
		GitRepository:  &arc.GitRepository{URL: source.Repo, RepositoryRef: arc.RepositoryRef{Branch: &branch}},
		Kustomizations: map[string]arc.Kustomization{"a": {Path: "a"}},
	}
}

// TestWritesWaitForTheOneBefore: Azure refuses a write while another one is
// under way; ours comes after it.
func TestWritesWaitForTheOneBefore(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	id := edge.ID()
	s.Busy(id, "platform", 4)
	c := hasty(connect(t, s), 10*time.Second, nil)
	made, err := c.Put(t.Context(), edge, "platform", wanted("qa"))
	if err != nil || *made.Properties.GitRepository.RepositoryRef.Branch != "qa" {
		t.Errorf("%+v %v", made, err)
	}
	s.Busy(id, "platform", 4)
	if _, err := c.Patch(t.Context(), edge, "platform", map[string]any{"suspend": true}, true); err != nil {
		t.Error(err)
	}
	s.Busy(id, "platform", 4)
	if err := c.Delete(t.Context(), edge, "platform", false, true); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), edge, "platform", false, true); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

func TestOperationsThatFail(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	s.Break(edge.ID(), "new", "ExtensionMissing", "The extension microsoft.flux is not there.")
	c := hasty(connect(t, s), 10*time.Second, nil)
	_, err := c.Put(t.Context(), edge, "new", wanted("qa"))
	if arc.Message(err) != "(ExtensionMissing) The extension microsoft.flux is not there." || !strings.Contains(err.Error(), "the operation has failed on Azure") || !strings.Contains(err.Error(), "flux show") {
		t.Errorf("%v", err)
	}
	if _, err := c.Put(t.Context(), edge, "new", wanted("qa")); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// TestOperationsHaveADeadline: an operation that does not end is not waited for
// for ever, and it is said what was heard of it last.
func TestOperationsHaveADeadline(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	s.Fail(httpfault.Fault[arctest.Call]{
		On: func(c arctest.Call) bool { return strings.Contains(c.Path, "/operations/") }, Times: -1,
		Answer: httpfault.Text(http.StatusOK, "application/json", `{"status": "InProgress"}`, "Retry-After-Ms", "5"),
	})
	var told []arc.Wait
	c := connect(t, s, func(set *arc.Settings) { set.Waiting = func(w arc.Wait) { told = append(told, w) } })
	c.Hurry(200 * time.Millisecond)
	_, err := c.Put(t.Context(), edge, "new", wanted("qa"))
	var late *arc.OperationError
	if !errors.As(err, &late) || late.Last != "it is InProgress" || !strings.HasPrefix(err.Error(), "write configuration new of cluster edge-000: not done after") {
		t.Errorf("%v", err)
	}
}

// TestLinksToOtherServersAreNotFollowed, neither to the next page nor to an
// operation: the token would go along.
func TestLinksToOtherServersAreNotFollowed(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	c := hasty(connect(t, s), 10*time.Second, nil)
	s.Fail(httpfault.Fault[arctest.Call]{On: managed, Answer: httpfault.Text(http.StatusOK, "application/json", `{"value": [], "nextLink": "https://evil.example.com/x"}`)})
	if _, err := c.List(t.Context(), edge); err == nil || !strings.Contains(err.Error(), "evil.example.com") {
		t.Errorf("%v", err)
	}
	s.Fail(httpfault.Fault[arctest.Call]{On: managed, Answer: httpfault.Text(http.StatusCreated, "application/json", `{"properties": {"provisioningState": "Creating"}}`, "Azure-AsyncOperation", "https://management.azure.com.evil.example.com/x")})
	if _, err := c.Put(t.Context(), edge, "new", wanted("qa")); err == nil || !strings.Contains(err.Error(), "evil.example.com") {
		t.Errorf("%v", err)
	}
	for _, call := range s.Calls() {
		if strings.Contains(call.Host, "evil") {
			t.Errorf("asked %s", call.Host)
		}
	}
}

// TestPartsOfAnswers: what is cut off, or leads in a circle, is no answer.
func TestPartsOfAnswers(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	c := hasty(connect(t, s), 10*time.Second, nil)
	for says, body := range map[string]string{
		"the rest cannot be had": `{"totalRecords": 2, "count": 0, "data": [], "resultTruncated": "true"}`,
		"0 rows came of 5":       `{"totalRecords": 5, "count": 0, "data": [], "resultTruncated": "false"}`,
		"in a circle":            `{"totalRecords": 5, "count": 0, "data": [], "resultTruncated": "true", "$skipToken": "1"}`,
	} {
		end := s.Fail(httpfault.Fault[arctest.Call]{On: managed, Times: -1, Answer: httpfault.Text(http.StatusOK, "application/json", body)})
		if _, err := c.Observe(t.Context(), source); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
		end()
	}
	end := s.Fail(httpfault.Fault[arctest.Call]{On: managed, Times: -1, Answer: httpfault.Text(http.StatusOK, "application/json", `{"value": [], "nextLink": "https://management.azure.com/x"}`)})
	defer end()
	if _, err := c.ListConnectedClusters(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "in a circle") {
		t.Errorf("%v", err)
	}
}
