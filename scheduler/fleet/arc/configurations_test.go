package arc_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

var edge = armapi.Cluster{Subscription: east, ResourceGroup: "fleet", Type: armapi.ConnectedClusters, Name: "edge-000"}

// wanted is a configuration that follows a branch.
func wanted(branch string) armapi.Properties {
	return armapi.Properties{
		Scope: "cluster", Namespace: "flux-system", SourceKind: "GitRepository",
		GitRepository:  &armapi.GitRepository{URL: source.Repo, RepositoryRef: armapi.RepositoryRef{Branch: &branch}},
		Kustomizations: map[string]armapi.Kustomization{"a": {Path: "a"}},
	}
}

// TestWritesWaitForTheOneBefore: Azure refuses a write while another one is
// under way; the client's comes after it.
func TestWritesWaitForTheOneBefore(t *testing.T) {
	variables(t, login...)
	synctest.Test(t, func(t *testing.T) {
		s := newAzure(t, 1)
		s.Busy(edge, "platform", 4)
		c := connect(t, s)
		made, err := c.Put(t.Context(), edge, "platform", wanted("qa"), true)
		if err != nil || *made.Properties.GitRepository.RepositoryRef.Branch != "qa" {
			t.Errorf("%+v %v", made, err)
		}
		s.Busy(edge, "platform", 4)
		if _, err := c.Patch(t.Context(), edge, "platform", map[string]any{"suspend": true}, true); err != nil {
			t.Error(err)
		}
		s.Busy(edge, "platform", 4)
		if err := c.Delete(t.Context(), edge, "platform", false, true); err != nil {
			t.Error(err)
		}
		if err := c.Delete(t.Context(), edge, "platform", false, true); err != nil {
			t.Errorf("what is not there: %v", err)
		}
	})
}

func TestOperationsThatFail(t *testing.T) {
	variables(t, login...)
	synctest.Test(t, func(t *testing.T) {
		s := newAzure(t, 1)
		s.Break(edge, "new", "ExtensionMissing", "The extension microsoft.flux is not there.")
		c := connect(t, s)
		_, err := c.Put(t.Context(), edge, "new", wanted("qa"), true)
		if !strings.HasPrefix(arc.Message(err), "(ExtensionMissing)") || !strings.Contains(err.Error(), "flux show") {
			t.Errorf("%v", err)
		}
		if _, err := c.Put(t.Context(), edge, "new", wanted("qa"), true); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

// TestOperationsHaveADeadline: an operation that does not end is an error with
// its last state.
func TestOperationsHaveADeadline(t *testing.T) {
	variables(t, login...)
	synctest.Test(t, func(t *testing.T) {
		s := newAzure(t, 1)
		s.Fail(httpfault.Fault[armfake.Call]{
			On: func(c armfake.Call) bool { return strings.Contains(c.Path, "/operations/") }, Times: -1,
			Answer: httpfault.Text(http.StatusOK, "application/json", `{"status": "InProgress"}`, "Retry-After", "60"),
		})
		var waits []arc.Wait
		c := connect(t, s, func(set *arc.Settings) { set.Report = func(w arc.Wait) { waits = append(waits, w) } })
		_, err := c.Put(t.Context(), edge, "new", wanted("qa"), true)
		var late *arc.OperationError
		if !errors.As(err, &late) || late.Last != "it is InProgress" || !strings.HasPrefix(err.Error(), "write configuration new of cluster edge-000: not done after") {
			t.Errorf("%v", err)
		}
		if len(waits) != 1 || time.Until(waits[0].Until).Round(time.Minute) != 0 || waits[0].Request != "write configuration new of cluster edge-000" {
			t.Errorf("reported %+v", waits)
		}
	})
}

// TestLinksToOtherServersAreNotFollowed, neither to the next page nor to an
// operation: the token would go along.
func TestLinksToOtherServersAreNotFollowed(t *testing.T) {
	s := newAzure(t, 1)
	variables(t, login...)
	c := connect(t, s)
	s.Fail(httpfault.Fault[armfake.Call]{On: managed, Answer: httpfault.Text(http.StatusOK, "application/json", `{"value": [], "nextLink": "https://evil.example.com/x"}`)})
	if _, err := c.List(t.Context(), edge); err == nil || !strings.Contains(err.Error(), "evil.example.com") {
		t.Errorf("%v", err)
	}
	s.Fail(httpfault.Fault[armfake.Call]{On: managed, Answer: httpfault.Text(http.StatusCreated, "application/json", `{"properties": {"provisioningState": "Creating"}}`, "Azure-AsyncOperation", "https://management.azure.com.evil.example.com/x")})
	if _, err := c.Put(t.Context(), edge, "new", wanted("qa"), true); err == nil || !strings.Contains(err.Error(), "evil.example.com") {
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
	c := connect(t, s)
	for says, body := range map[string]string{
		"the rest cannot be had": `{"totalRecords": 2, "count": 0, "data": [], "resultTruncated": "true"}`,
		"0 rows came of 5":       `{"totalRecords": 5, "count": 0, "data": [], "resultTruncated": "false"}`,
		"in a circle":            `{"totalRecords": 5, "count": 0, "data": [], "resultTruncated": "true", "$skipToken": "1"}`,
	} {
		end := s.Fail(httpfault.Fault[armfake.Call]{On: managed, Times: -1, Answer: httpfault.Text(http.StatusOK, "application/json", body)})
		if _, err := c.Observe(t.Context(), source); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
		end()
	}
	end := s.Fail(httpfault.Fault[armfake.Call]{On: managed, Times: -1, Answer: httpfault.Text(http.StatusOK, "application/json", `{"value": [], "nextLink": "https://management.azure.com/x"}`)})
	defer end()
	if _, err := c.ListConnectedClusters(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "in a circle") {
		t.Errorf("%v", err)
	}
}
