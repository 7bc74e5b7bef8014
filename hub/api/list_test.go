package api_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
)

func TestPaging(t *testing.T) {
	h := newHub(t)
	var names []string
	path := "/api/v1/placements?limit=5&sort=cluster"
	for path != "" {
		a := h.do(http.MethodGet, path, "")
		var list api.List[api.Placement]
		if err := json.Unmarshal(a.body, &list); err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
		if list.Total == nil || *list.Total != 12 || list.AsOf.IsZero() {
			t.Errorf("total %v, as of %v", list.Total, list.AsOf)
		}
		for _, p := range list.Items {
			names = append(names, p.Environment+"/"+p.Cluster+"/"+p.Target)
		}
		link, isNext := strings.CutSuffix(a.Header.Get("Link"), `>; rel="next"`)
		if isNext != (list.Next != "") {
			t.Fatalf("Link %q, next %q", a.Header.Get("Link"), list.Next)
		}
		path = strings.TrimPrefix(link, "<")
	}
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	if len(names) != 12 || len(seen) != 12 {
		t.Errorf("%d placements, %d different: %v", len(names), len(seen), names)
	}
}

func TestFilters(t *testing.T) {
	h := newHub(t)
	h.apply(fleetOf("failing", "image not found"))
	for query, want := range map[string]int{
		"": 12, "env=dev": 6, "env=dev&env=stage": 12, "cluster=drone": 4, "cluster=drone&env=dev": 2, "clusterType=edge": 4, "target=web-east": 6,
		"workload=jobs": 6, "workspace=team-a": 6, "version=1.2.3": 12, "state=failing": 6, "state=failing&state=ok": 12, "state=failing&target=jobs-batch": 0,
		"label=region%3Dwest": 12, "label=region%20in%20(east)": 0, "q=NOT%20found": 6, "sort=-since": 12, "sort=": 12,
	} {
		list := get[api.List[api.Placement]](h, "/api/v1/placements?"+query)
		if len(list.Items) != want {
			t.Errorf("%s: %d placements, want %d", query, len(list.Items), want)
		}
	}
	for query, want := range map[string]int{"": 3, "unknown=true": 0, "unknown=false": 3, "q=LAR": 1, "clusterType=cloud": 2, "state=failing": 3, "state=late": 0, "cluster=drone": 1, "reconciler=flux": 3, "env=dev": 3, "sort=lastSeen": 3} {
		list := get[api.List[api.Cluster]](h, "/api/v1/clusters?"+query)
		if len(list.Items) != want {
			t.Errorf("%s: %d clusters, want %d", query, len(list.Items), want)
		}
		for _, c := range list.Items {
			if len(c.Subscriptions) > 0 {
				t.Errorf("the list has subscriptions of %s", c.Name)
			}
		}
	}
	if c := get[api.Cluster](h, "/api/v1/clusters/drone"); len(c.Subscriptions) != 1 || c.Types["dev"] != "edge" || c.Counts["failing"] != 2 {
		t.Errorf("%+v", c)
	}
	groups := get[api.List[api.DriftGroup]](h, "/api/v1/drift?env=dev")
	if len(groups.Items) != 1 || groups.Items[0].Clusters != 3 || groups.Items[0].State != "failing" || groups.Items[0].Since.IsZero() {
		t.Errorf("%+v", groups)
	}
	events := get[api.List[api.PlacementEvent]](h, "/api/v1/placements/dev/drone/web-east/events")
	if len(events.Items) != 2 || events.Items[0].FromState != "ok" || events.Items[0].ToState != "failing" {
		t.Errorf("%+v", events)
	}
	if w := get[api.Workload](h, "/api/v1/workloads/web"); w.Environments["dev"].Versions["1.2.3"] != 3 || w.Environments["dev"].Counts["failing"] != 3 {
		t.Errorf("%+v", w)
	}
	if list := get[api.List[api.Workload]](h, "/api/v1/workloads"); len(list.Items) != 2 || list.AsOf.IsZero() {
		t.Errorf("%+v", list)
	}
	if list := get[api.List[api.EnvironmentProblem]](h, "/api/v1/problems"); len(list.Items) != 2 || list.Items[0].FirstSeen.IsZero() {
		t.Errorf("%+v", list)
	}
	for state, want := range map[string]int{"open": 2, "merged": 0} {
		if list := get[api.List[api.PullRequest]](h, "/api/v1/pull-requests?state="+state); len(list.Items) != want {
			t.Errorf("%s: %+v", state, list)
		}
	}
	if list := get[api.List[api.Source]](h, "/api/v1/sources"); len(list.Items) != 1 || list.Items[0].TookMS != 1000 {
		t.Errorf("%+v", list)
	}
}

// TestCounts is about figures of several pages, which are one figure.
func TestCounts(t *testing.T) {
	h := newHub(t)
	h.apply(fleetOf("late", "slow"))
	for _, e := range get[api.List[api.Environment]](h, "/api/v1/environments").Items {
		for _, rows := range []string{"types", "clusters"} {
			for _, cols := range []string{"targets", "workloads"} {
				m := get[api.Matrix](h, "/api/v1/environments/"+e.Name+"/matrix?rows="+rows+"&cols="+cols)
				counts := map[string]int{}
				for _, c := range m.Cells {
					if m.Versions[c[2]] != "1.2.3" || m.Rows[c[0]].Name == "" || m.Cols[c[1]].Name == "" {
						t.Errorf("cell %v", c)
					}
					counts[string(m.States[c[3]])] += c[4]
				}
				want := map[string]int{}
				for state, n := range e.Counts {
					want[string(state)] = n
				}
				if diff := cmp.Diff(want, counts); diff != "" || len(want) != 2 {
					t.Errorf("%s by %s and %s (-environment +matrix):\n%s", e.Name, rows, cols, diff)
				}
			}
		}
		if one := get[api.Environment](h, "/api/v1/environments/"+e.Name); one.Counts["late"] != 3 {
			t.Errorf("%+v", one)
		}
	}
}

func TestCSV(t *testing.T) {
	h := newHub(t)
	h.apply(fleetOf("failing", "=HYPERLINK(\"x\")"))
	for name, a := range map[string]answer{
		"format": h.do(http.MethodGet, "/api/v1/placements?format=csv&limit=1&state=failing", ""),
		"Accept": h.do(http.MethodGet, "/api/v1/placements?state=failing", "", header("Accept", "text/csv")),
	} {
		rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
		if err != nil || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
			t.Fatalf("%s: %v: %s", name, err, a.body)
		}
		if len(rows) != 7 || rows[0][0] != "environment" || len(rows[0]) != len(rows[1]) || !strings.Contains(string(a.body), "'=HYPERLINK") {
			t.Errorf("%s: %d rows: %s", name, len(rows), a.body)
		}
	}
	for _, path := range []string{"clusters", "drift", "problems", "pull-requests", "audit", "placements/dev/drone/web-east/events"} {
		rows, err := csv.NewReader(strings.NewReader(string(h.do(http.MethodGet, "/api/v1/"+path+"?format=csv", "").body))).ReadAll()
		if err != nil || len(rows) < 1 || len(rows[0]) < 6 {
			t.Errorf("%s: %v: %v", path, err, rows)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/html,*/*;q=0.8"} {
		if a := h.do(http.MethodGet, "/api/v1/placements", "", header("Accept", accept)); a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q: %s", accept, a.Header.Get("Content-Type"))
		}
	}
}

// TestLargeAnswers is about lists that are larger than an answer may be, and CSV of several
// pages.
func TestLargeAnswers(t *testing.T) {
	h := newHub(t)
	r := fleetOf("ok", "")
	long := strings.Repeat("why ", 1020)
	p := r.Placements["dev"][0]
	r.Placements["dev"] = nil
	for i := range 5200 {
		p.Cluster, p.Target, p.State, p.Reason = fmt.Sprintf("cluster-%04d", i), "web-east", "failing", long
		r.Placements["dev"] = append(r.Placements["dev"], p)
		r.Clusters = append(r.Clusters, store.Cluster{Name: p.Cluster, LastSeen: r.At})
	}
	h.apply(r)
	a := h.do(http.MethodGet, "/api/v1/placements?env=dev&limit=500", "")
	if p := a.problem(); a.StatusCode != http.StatusUnprocessableEntity || p.Type != "/problems/answer-too-large" || p.Errors[0].Location != "query.limit" {
		t.Errorf("%s: %.200s", a.Status, a.body)
	}
	if list := get[api.List[api.Placement]](h, "/api/v1/placements?env=dev&limit=300"); len(list.Items) != 300 || list.Next == "" {
		t.Errorf("%d placements, next %q", len(list.Items), list.Next)
	}
	rows, err := csv.NewReader(bytes.NewReader(h.do(http.MethodGet, "/api/v1/placements?env=dev&format=csv", "").body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	clusters := map[string]bool{}
	for _, row := range rows[1:] {
		clusters[row[1]] = true
	}
	if len(rows) != 5201 || len(clusters) != 5200 {
		t.Errorf("%d rows of %d clusters", len(rows), len(clusters))
	}
	if m := get[api.Matrix](h, "/api/v1/environments/dev/matrix?rows=clusters&limit=500"); len(m.Rows) != 500 || len(m.Cells) != 500 || m.Next == "" {
		t.Errorf("%d rows, %d cells, next %q", len(m.Rows), len(m.Cells), m.Next)
	}
}

func TestEntityTag(t *testing.T) {
	h := newHub(t)
	const path = "/api/v1/placements"
	first := h.do(http.MethodGet, path, "")
	tag := first.Header.Get("ETag")
	same := h.do(http.MethodGet, path, "", header("If-None-Match", tag))
	if tag == "" || same.StatusCode != http.StatusNotModified || len(same.body) > 0 {
		t.Fatalf("%q: %s", tag, same.Status)
	}
	viewer := as(h.token("viewer", api.Viewer, store.Scope{Workspaces: []string{"team-a"}}))
	if a := h.do(http.MethodGet, path, "", header("If-None-Match", tag), viewer); a.StatusCode != http.StatusOK {
		t.Errorf("another user has the same tag: %s", a.Status)
	}
	h.apply(fleetOf("late", "slow"))
	if a := h.do(http.MethodGet, path, "", header("If-None-Match", tag)); a.StatusCode != http.StatusOK || a.Header.Get("ETag") == tag {
		t.Errorf("after a change: %s %s", a.Status, a.Header.Get("ETag"))
	}
	h.server.Config.Handler = h.handler(func(o *api.Options) { o.Registry = nil })
	tag = h.do(http.MethodGet, path, "").Header.Get("ETag")
	h.server.Config.Handler = h.handler(func(o *api.Options) { o.Registry = nil })
	if a := h.do(http.MethodGet, path, "", header("If-None-Match", tag)); a.StatusCode != http.StatusOK {
		t.Errorf("another run of the hub, maybe with another database, has the same tag: %s", a.Status)
	}
}

func TestCompression(t *testing.T) {
	h := newHub(t)
	a := h.do(http.MethodGet, "/api/v1/openapi.json", "", header("Accept-Encoding", "gzip"))
	if a.Header.Get("Content-Encoding") != "gzip" || len(a.body) == 0 {
		t.Errorf("%v", a.Header)
	}
	plain := h.do(http.MethodGet, "/api/v1/openapi.json", "", header("Accept-Encoding", "identity"))
	if plain.Header.Get("Content-Encoding") != "" || len(plain.body) < 3*len(a.body) {
		t.Errorf("%d bytes, compressed %d", len(plain.body), len(a.body))
	}
}

// TestRedaction is about values that nobody is shown, in all documents that have values.
func TestRedaction(t *testing.T) {
	h := newHub(t)
	for path, shown := range map[string]string{
		"/explain?env=dev&target=web-east&clusterType=edge": "west", "/environments/dev/assignments": "db-password", "/environments/dev/configs": "west",
	} {
		a := h.do(http.MethodGet, "/api/v1"+path, "")
		if a.StatusCode != http.StatusOK || strings.Contains(string(a.body), secretValue) || !strings.Contains(string(a.body), "REDACTED") || !strings.Contains(string(a.body), shown) {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
	h.server.Config.Handler = h.handler(func(o *api.Options) { o.Registry, o.Redact = nil, []string{"REGION"} })
	if a := h.do(http.MethodGet, "/api/v1/environments/dev/configs", ""); !strings.Contains(string(a.body), secretValue) || strings.Contains(string(a.body), "west") {
		t.Errorf("patterns of its own: %s", a.body)
	}
}

func TestMetrics(t *testing.T) {
	h := newHub(t)
	for _, path := range []string{"/api/v1/clusters/drone", "/api/v1/clusters/large", "/api/v1/clusters/" + url.PathEscape("a/b"), "/api/v1/nothing/1", "/api/v1/nothing/2", "/elsewhere"} {
		h.do(http.MethodGet, path, "")
	}
	h.do("PROPFIND", "/", "")
	h.do(http.MethodGet, "/api/v1/me", "", as("kht_none"))
	problems, err := testutil.GatherAndLint(h.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	all, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]uint64{}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			switch family.GetName() {
			case "kalypso_hub_http_request_duration_seconds":
				routes[labels["method"]+" "+labels["route"]+" "+labels["code"]] = m.GetHistogram().GetSampleCount()
			case "kalypso_hub_auth_failures_total":
				if labels["reason"] == "token" && m.GetCounter().GetValue() != 1 {
					t.Errorf("failed sign-ins: %v", m)
				}
			}
		}
	}
	want := map[string]uint64{"GET /api/v1/clusters/{name} 200": 2, "GET /api/v1/clusters/{name} 404": 1, "GET /api/ 404": 2, "GET other 404": 1, "other other 405": 1, "GET /api/v1/me 401": 1}
	if diff := cmp.Diff(want, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	for _, name := range []string{"kalypso_hub_sse_clients", "kalypso_hub_auth_failures_total"} {
		if n, err := testutil.GatherAndCount(h.registry, name); err != nil || n == 0 {
			t.Errorf("there is no %s: %v", name, err)
		}
	}
}
