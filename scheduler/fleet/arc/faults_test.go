package arc_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/testkit/armfake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

var update = flag.Bool("update", false, "write testdata/faults.md anew")

// refuses is an answer of ARM's that says no.
func refuses(status int, code, message string, header ...string) httpfault.Answer {
	return httpfault.Text(status, "application/json", fmt.Sprintf(`{"error": {"code": %q, "message": %q}}`, code, message), header...)
}

func throttled(header ...string) httpfault.Fault[armfake.Call] {
	return httpfault.Fault[armfake.Call]{
		On:     managed,
		Answer: refuses(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled.", header...),
	}
}

const notAllowed = "The client 'x' with object id 'x' does not have authorization to perform action 'Microsoft.KubernetesConfiguration/fluxConfigurations/write' over scope '/subscriptions/aaaa/resourceGroups/fleet' or the scope is invalid."

func managed(c armfake.Call) bool { return !c.Login }

// faults are what can happen to a request.
var faults = []struct {
	name   string
	late   bool // the request was carried out all the same
	answer httpfault.Answer
}{
	{"401 the token has expired", false, refuses(401, "ExpiredAuthenticationToken", "The access token has expired.")},
	{"401 the token is of another tenant", false, refuses(401, "InvalidAuthenticationTokenTenant", "The access token is from the wrong issuer.")},
	{"403 a role is missing", false, refuses(403, "AuthorizationFailed", notAllowed)},
	{"403 of the Resource Graph", false, refuses(403, "AccessDenied", "Access is denied to the requested resource.")},
	{"403 of a proxy", false, httpfault.Page(403)},
	{"404 no such subscription", false, refuses(404, "SubscriptionNotFound", "The subscription 'aaaa' could not be found.")},
	{"404 of a proxy", false, httpfault.Page(404)},
	{"409 the provider is not registered", false, refuses(409, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.KubernetesConfiguration'.")},
	{"409 another write is under way", false, refuses(409, "Conflict", "Another operation is in progress.")},
	{"429, for 7 s", false, refuses(429, "TooManyRequests", "The request is being throttled.", "Retry-After", "7")},
	{"429, it does not say how long", false, refuses(429, "TooManyRequests", "The request is being throttled.")},
	{"500 after the work was done", true, refuses(500, "InternalServerError", "Encountered an internal server error.")},
	{"503, for 3 s", false, refuses(503, "ServerTimeout", "The request timed out.", "Retry-After", "3")},
	{"502 of a proxy", false, httpfault.Page(502)},
	{"200, a login page", false, httpfault.Page(200)},
	{"connection reset before", false, httpfault.Reset()},
	{"connection reset after", true, httpfault.Reset()},
	{"half an answer", false, httpfault.Half()},
	{"an answer that takes too long", false, httpfault.Slow(3 * time.Minute)},
}

// story observes a fleet, writes a configuration and deletes another one.
type story struct {
	*armfake.Server
	client *arc.Client
	errs   map[string]bool // that the user got
	again  int             // how often the user had to call again
	waited time.Duration   // the longest wait for a limit or a server
}

func newStory(t *testing.T) *story {
	s := &story{Server: newAzure(t, 7), errs: map[string]bool{}}
	s.Follow(edge006, "old", source.Repo, "old")
	s.connect(t)
	return s
}

var edge006 = armapi.Cluster{Subscription: east, ResourceGroup: "fleet", Type: armapi.ConnectedClusters, Name: "edge-006"}

func (s *story) connect(t *testing.T) {
	s.client = connect(t, s.Server, func(set *arc.Settings) {
		set.Report = func(w arc.Wait) {
			if strings.Contains(w.Request, " /") {
				s.waited = max(s.waited, time.Until(w.Until).Round(time.Second))
			}
		}
	})
}

// play goes through the story; the user calls again what has failed.
func (s *story) play(t *testing.T, times int) (done bool) {
	branch := "qa"
	for _, step := range []func() error{
		func() error {
			all, err := s.client.Observe(t.Context(), source)
			if v := fleet.Judge(all, commit); err == nil && (v.Decision != fleet.Arrived || v.All != 7) {
				t.Errorf("observed %+v", v)
			}
			return err
		},
		func() error {
			all, err := s.client.ListConnectedClusters(t.Context(), "fleet")
			if err == nil && len(all) != 7 {
				t.Errorf("%d clusters", len(all))
			}
			return err
		},
		func() error {
			made, err := s.client.Put(t.Context(), edge006, "new", armapi.Properties{
				Scope: "cluster", Namespace: "flux-system", SourceKind: "GitRepository",
				GitRepository:  &armapi.GitRepository{URL: source.Repo, RepositoryRef: armapi.RepositoryRef{Branch: &branch}},
				Kustomizations: map[string]armapi.Kustomization{"a": {Path: "a", Prune: true}}, ProtectedSettings: map[string]string{"httpsKey": "c2VjcmV0"},
			}, true)
			if err == nil && made.Properties.ProvisioningState != "Succeeded" {
				t.Errorf("made %+v", made)
			}
			return err
		},
		func() error { return s.client.Delete(t.Context(), edge006, "old", false, true) },
	} {
		for try := 0; ; try++ {
			err := step()
			if err == nil {
				break
			}
			s.errs[shown(err)] = true
			if s.again++; try >= times {
				return false
			}
		}
	}
	return true
}

var (
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)
	about = regexp.MustCompile(`^(?:query of the resource graph|connected clusters|(?:write|delete) configuration \w+ of cluster \S+): `)
	// how a broken connection shows depends on the moment
	broken = regexp.MustCompile(`no answer: (?:[^n(]|n[^o(])[^(]* \(`)
	ports  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// shown is an error without what differs from run to run.
func shown(err error) string {
	err = fmt.Errorf("%s", broken.ReplaceAllString(err.Error(), "no answer: the connection broke ("))
	text := ports.ReplaceAllString(times.ReplaceAllString(err.Error(), "TIME"), "HOST")
	return strings.NewReplacer(app, "APP", armfake.Tenant, "TENANT", east, "SUBSCRIPTION").Replace(text)
}

// TestFaults lets every kind of fault happen to each request of a story, one at
// a time, and then to all of them until the user has given up. In the end the
// state is what it would be without it. What the user saw is in
// testdata/faults.md.
func TestFaults(t *testing.T) {
	variables(t, login...)
	var want map[string]string
	requests := 0
	synctest.Test(t, func(t *testing.T) {
		calm := newStory(t)
		if !calm.play(t, 0) {
			t.Fatal(calm.errs)
		}
		want, requests = calm.Dump(), len(slices.DeleteFunc(calm.Calls(), func(c armfake.Call) bool { return c.Login }))
	})
	var table strings.Builder
	fmt.Fprintf(&table, "One fault at a time, for each of the %d requests of a story: a fleet of 7 clusters is observed and listed, a configuration is made and one deleted.\n\n| fault | what happened | what the user saw |\n| --- | --- | --- |\n", requests)
	for _, f := range faults {
		var waited time.Duration
		alone, errs := 0, map[string]bool{}
		for at := range requests {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t)
				s.Fail(httpfault.Fault[armfake.Call]{On: managed, Skip: at, Late: f.late, Answer: f.answer})
				if !s.play(t, 2) {
					t.Errorf("%s at request %d: not done", f.name, at)
				}
				if diff := cmp.Diff(want, s.Dump()); diff != "" {
					t.Errorf("%s at request %d of %d: in the end (-want +got):\n%s", f.name, at, requests, diff)
				}
				if s.again == 0 {
					alone++
				}
				waited = max(waited, s.waited)
				maps.Copy(errs, s.errs)
			})
		}
		happened := fmt.Sprintf("%d of %d runs went on by themselves", alone, requests)
		if waited > 0 {
			happened += ", after " + waited.String() + " at most"
		}
		line(&table, f.name+", once", happened, errs)
		for what, on := range map[string]func(armfake.Call) bool{"reading": managed, "writing": func(c armfake.Call) bool { return c.Method == http.MethodPut }} {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t)
				end := s.Fail(httpfault.Fault[armfake.Call]{On: on, Times: -1, Answer: f.answer})
				if s.play(t, 0) {
					t.Errorf("%s all the time, %s: done", f.name, what)
				}
				if what == "reading" {
					line(&table, f.name+", all the time", "nothing was concluded from it", s.errs)
				}
				end()
				s.connect(t)
				if !s.play(t, 0) {
					t.Errorf("%s, %s: not done when it was over", f.name, what)
				}
				if diff := cmp.Diff(want, s.Dump()); diff != "" {
					t.Errorf("%s, %s, over: in the end (-want +got):\n%s", f.name, what, diff)
				}
			})
		}
	}
	for text := range strings.Lines(table.String()) {
		if strings.Contains(text, secret) || strings.Contains(text, "eyJ") || strings.Contains(text, "c2VjcmV0") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	golden(t, "testdata/faults.md", table.String())
}

func line(b *strings.Builder, fault, happened string, errs map[string]bool) {
	// one stands for those that differ only in what was asked for
	short := map[string]bool{}
	for text := range errs {
		short[about.ReplaceAllString(text, "... ")] = true
	}
	texts := slices.Sorted(maps.Keys(short))
	if len(texts) == 0 {
		texts = []string{"nothing"}
	}
	fmt.Fprintf(b, "| %s | %s | %s |\n", fault, happened, strings.ReplaceAll(strings.Join(texts, "<br>"), "\n", " "))
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
}
