package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/hub/telemetry"
)

// receiver is an OTLP receiver. Its first answers can be others than 200.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	answers []int
	got     []*collectorpb.ExportTraceServiceRequest
	header  http.Header
}

func newReceiver(t *testing.T, answers ...int) *receiver {
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		zip, err := gzip.NewReader(q.Body)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(zip)
		}
		message := &collectorpb.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, message)
		}
		if err != nil || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %v: %v", q.URL.Path, q.Header, err)
		}
		r.header = q.Header
		if len(r.answers) > 0 {
			status := r.answers[0]
			r.answers = r.answers[1:]
			if status != http.StatusOK {
				w.WriteHeader(status)
				return
			}
		}
		r.got = append(r.got, message)
	}))
	t.Cleanup(r.Close)
	return r
}

// spans are all that was received, and fails for what is no trace.
func (r *receiver) spans(t *testing.T) (all []*tracepb.Span) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, message := range r.got {
		for _, resource := range message.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
	ids := map[string]*tracepb.Span{}
	for _, s := range all {
		ids[hex.EncodeToString(s.SpanId)] = s
	}
	for _, s := range all {
		if len(s.TraceId) != 16 || len(s.SpanId) != 8 || s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("span %v", s)
		}
		if parent := hex.EncodeToString(s.ParentSpanId); parent != "" && (ids[parent] == nil || !bytes.Equal(ids[parent].TraceId, s.TraceId)) {
			t.Errorf("span %s has a parent that is not there", s.Name)
		}
	}
	return all
}

var noon = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)

func after(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// newStore has a change that has arrived on 30 clusters of one type and one of another, whose
// clocks are wrong.
func newStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := store.Round{At: noon.Add(-time.Minute), Environments: []store.Environment{{Name: "dev", GitOpsRepo: "https://forge/gitops", GitOpsBranch: "dev"}}}
	c := store.Change{
		Environment: "dev", Repo: "https://forge/gitops", Branch: "dev", Kind: "platform", PullRequest: 7, SHA: strings.Repeat("a", 40), Head: strings.Repeat("b", 40),
		Title: "Edge", Author: "ann", URL: "https://forge/7", Size: &store.Size{Added: 1},
		Stages: store.Stages{Pushed: after(0), Planned: after(1), Opened: after(2), Merged: after(10)},
		Sources: []store.SourceCommit{
			{Repo: "https://forge/control", SHA: strings.Repeat("c", 40), Author: "ann", At: after(0)}, {Repo: "https://forge/control", SHA: strings.Repeat("d", 40), Author: "ben", At: after(0)},
		},
	}
	for i := range 31 {
		name, kind, at := fmt.Sprintf("edge-%02d", i), "edge", after(11+i/2)
		if i == 30 {
			name, kind, at = "wrong-clock", "cloud", after(-50)
		}
		r.Clusters = append(r.Clusters, store.Cluster{Name: name, LastSeen: noon})
		c.Clusters = append(c.Clusters, store.ChangeCluster{Cluster: name, ClusterType: kind, Subscription: "flux/dev", State: store.ClusterApplied, Since: at})
	}
	if _, err := s.Apply(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Round{At: after(30), Changes: []store.Change{c}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func exporter(t *testing.T, s *store.Store, r *receiver, clusterSpans string) *telemetry.Exporter {
	t.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=a%20b, authorization=Bearer%20secret"}
	e, err := telemetry.New(telemetry.Options{Store: s, ClusterSpans: clusterSpans, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}, func(name string) string { return env[name] })
	if err != nil || e == nil {
		t.Fatal(e, err)
	}
	return e
}

// TestTrace: a change is one trace, whose IDs are the same in two databases.
func TestTrace(t *testing.T) {
	var first []*tracepb.Span
	for range 2 {
		s, r := newStore(t), newReceiver(t)
		e := exporter(t, s, r, telemetry.SlowestClusters)
		for range 2 {
			if err := e.Export(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		spans := r.spans(t)
		if len(r.got) != 1 {
			t.Errorf("%d exports of one change", len(r.got))
		}
		if r.header.Get("X-Tenant") != "a b" || r.header.Get("Authorization") != "Bearer secret" {
			t.Errorf("headers %v", r.header)
		}
		if first == nil {
			first = spans
			continue
		}
		if diff := cmp.Diff(ids(first), ids(spans)); diff != "" {
			t.Errorf("another export: %s", diff)
		}
	}
	names, roots := map[string]int{}, 0
	for _, s := range first {
		// the digest of kalypso-change:https://forge/gitops#7, as another program makes it
		if hex.EncodeToString(s.TraceId) != "9fce722c7b6c138db83cc1519fc9e2a6" {
			t.Errorf("span %s is of trace %x", s.Name, s.TraceId)
		}
		if len(s.ParentSpanId) == 0 {
			roots++
			if s.Name != "change" || len(s.Links) != 2 || s.StartTimeUnixNano != uint64(after(0).UnixNano()) || bytes.Equal(s.Links[0].TraceId, s.Links[1].TraceId) {
				t.Errorf("root %v", s)
			}
			for _, other := range first {
				if other.StartTimeUnixNano < s.StartTimeUnixNano || other.EndTimeUnixNano > s.EndTimeUnixNano {
					t.Errorf("%s is not within the change", other.Name)
				}
			}
		}
		name, _, _ := strings.Cut(s.Name, " edge-")
		names[name]++
	}
	want := map[string]int{"change": 1, "push": 1, "plan": 1, "review": 1, "merge": 1, "rollout edge": 1, "rollout cloud": 1, "fetch": 2, "apply": 2, "cluster": 20, "cluster wrong-clock": 1}
	if diff := cmp.Diff(want, names); diff != "" || roots != 1 {
		t.Errorf("%d roots: %s", roots, diff)
	}
}

func ids(spans []*tracepb.Span) (all []string) {
	for _, s := range spans {
		all = append(all, fmt.Sprintf("%s %x %x %x", s.Name, s.TraceId, s.SpanId, s.ParentSpanId))
	}
	return all
}

func TestAllClusters(t *testing.T) {
	s, r := newStore(t), newReceiver(t)
	if err := exporter(t, s, r, telemetry.AllClusters).Export(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, one := range r.spans(t) {
		if strings.HasPrefix(one.Name, "cluster ") {
			n++
		}
	}
	if n != 31 {
		t.Errorf("%d clusters have spans", n)
	}
}

// TestReceiver: a receiver that is down gets the trace later, and one that refuses it is left alone.
func TestReceiver(t *testing.T) {
	s, r := newStore(t), newReceiver(t, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	e := exporter(t, s, r, "")
	for range 2 {
		if err := e.Export(t.Context(), time.Now()); err == nil {
			t.Error("no error")
		}
	}
	if err := e.Export(t.Context(), time.Now()); err != nil || len(r.got) != 1 {
		t.Errorf("%d, %v", len(r.got), err)
	}

	s, r = newStore(t), newReceiver(t, http.StatusBadRequest)
	e = exporter(t, s, r, "")
	for range 2 {
		if err := e.Export(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	}
	if len(r.got) != 0 {
		t.Error("what was refused is sent again")
	}
}

func TestEnvironment(t *testing.T) {
	for text, want := range map[string]string{
		"": "off", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318": "on", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://otlp/v1/traces": "on",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_SDK_DISABLED=true":           "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318":                            "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_TIMEOUT=10s":   "OTEL_EXPORTER_OTLP_TIMEOUT",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_HEADERS=x":     "OTEL_EXPORTER_OTLP_HEADERS",
	} {
		env := map[string]string{}
		for one := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(one, "=")
			env[name] = value
		}
		e, err := telemetry.New(telemetry.Options{}, func(name string) string { return env[name] })
		got := "off"
		switch {
		case err != nil:
			got = err.Error()
		case e != nil:
			got = "on"
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
