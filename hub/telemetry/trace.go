package telemetry

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// Which clusters have spans of their own.
const (
	// SlowestClusters are those that fail, and the 20 of each cluster type that took longest.
	SlowestClusters = "slowest"
	AllClusters     = "all"
)

const slowest = 20

// change is a change with the clusters that it goes to.
type change struct {
	store.ChangeDetail
	clusters []store.ChangeCluster
}

// name is what the IDs of a change's trace are made of. Who knows the pull request knows the trace.
func (c change) name() string {
	if c.PullRequest > 0 {
		return "kalypso-change:" + c.Repo + "#" + strconv.Itoa(c.PullRequest)
	}
	return "kalypso-change:" + c.Repo + "@" + c.SHA
}

func traceID(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:16]
}

// spanID is that of a span at a path below the root's, in the trace of a name.
func spanID(name, path string) []byte {
	sum := sha256.Sum256([]byte(name + "/" + path))
	return sum[:8]
}

// commitLink is a link to the trace that a commit may have, by its repository and SHA.
func commitLink(s store.SourceCommit) *tracepb.Span_Link {
	name := "kalypso-commit:" + s.Repo + "@" + s.SHA
	return &tracepb.Span_Link{TraceId: traceID(name), SpanId: spanID(name, ""), Attributes: attributes("vcs.repository.url.full", s.Repo, "vcs.ref.head.revision", s.SHA)}
}

// trace builds the spans of a change.
type trace struct {
	change
	began, ended time.Time // of the root
	spans        []*tracepb.Span
}

// spansOf are the spans of a change, the root first; none where it is not known when it began.
func spansOf(c change, clusterSpans string) []*tracepb.Span {
	t := &trace{change: c, began: first(c.Pushed, c.Planned, c.Opened, c.Merged)}
	if t.began.IsZero() {
		return nil
	}
	t.ended = t.began
	root := t.span("", "", "change", t.began, time.Time{}, "vcs.repository.url.full", c.Repo, "vcs.change.id", number(c.PullRequest),
		"vcs.change.title", c.Title, "vcs.ref.head.name", c.Branch, "vcs.ref.head.revision", c.SHA, "deployment.environment.name", c.Environment,
		"kalypso.change.kind", c.Kind, "kalypso.change.state", c.State)
	for _, s := range c.Sources {
		root.Links = append(root.Links, commitLink(s))
	}
	t.span("push", "", "push", t.began, cmp.Or(c.Pushed, t.began))
	t.stage("plan", c.Pushed, first(c.Opened, c.Planned, c.Merged))
	t.stage("review", c.Opened, c.Merged)
	t.stage("merge", c.Merged, c.Merged)
	for _, lane := range c.Lanes {
		t.rollout(lane, clusterSpans)
	}
	t.spans[0].EndTimeUnixNano = nanos(t.ended)
	if c.Failing > 0 || c.State == store.ChangeFailing {
		root.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: c.Reason}
	}
	return t.spans
}

// stage adds a span of a change's way to its merge, if it is known when that began.
func (t *trace) stage(name string, began, ended time.Time) {
	if !began.IsZero() {
		t.span(name, "", name, began, ended)
	}
}

// rollout adds the spans of a cluster type.
func (t *trace) rollout(lane store.Lane, clusterSpans string) {
	if t.Merged.IsZero() {
		return
	}
	path := "rollout/" + lane.ClusterType
	var fetched, applied []time.Time
	var clusters []store.ChangeCluster
	for _, c := range t.clusters {
		if c.ClusterType != lane.ClusterType {
			continue
		}
		clusters = append(clusters, c)
		fetched, applied = append(fetched, c.Fetched), append(applied, c.Applied)
	}
	span := t.span(path, "", "rollout "+lane.ClusterType, t.Merged, latest(append(slices.Clone(applied), fetched...)), "kalypso.cluster_type", lane.ClusterType,
		"kalypso.clusters", number(lane.Total), "kalypso.clusters.reached", number(lane.Reached), "kalypso.clusters.failing", number(lane.Failing))
	if lane.Failing > 0 {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	}
	if last := latest(fetched); !last.IsZero() {
		t.span(path+"/fetch", path, "fetch", t.Merged, last)
	}
	if last := latest(applied); !last.IsZero() {
		t.span(path+"/apply", path, "apply", cmp.Or(earliest(fetched), t.Merged), last)
	}
	slices.SortStableFunc(clusters, func(a, b store.ChangeCluster) int {
		return cmp.Or(cmp.Compare(a.State, b.State), b.Applied.Compare(a.Applied), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Subscription, b.Subscription))
	})
	arrived := 0
	for _, c := range clusters {
		if c.State != store.ClusterFailing {
			if arrived++; clusterSpans != AllClusters && arrived > slowest {
				break // those that fail are the first
			}
		}
		t.cluster(path, c)
	}
}

// cluster adds the span of one cluster.
func (t *trace) cluster(parent string, c store.ChangeCluster) {
	span := t.span(parent+"/"+c.Cluster+"/"+c.Subscription, parent, "cluster "+c.Cluster, t.Merged, latest([]time.Time{c.Fetched, c.Applied}), "k8s.cluster.name", c.Cluster,
		"kalypso.subscription", c.Subscription, "kalypso.state", c.State.String())
	for _, e := range []struct {
		name string
		at   time.Time
	}{{"fetched", c.Fetched}, {"applied", c.Applied}} {
		if !e.at.IsZero() {
			span.Events = append(span.Events, &tracepb.Span_Event{Name: e.name, TimeUnixNano: nanos(e.at)})
		}
	}
	if c.State == store.ClusterFailing {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: c.Reason}
	}
}

// span adds a span. The clocks of users, of the forge and of clusters differ: one that would end
// before it begins has no length. Attributes are names and values by turns; "" is left out.
func (t *trace) span(path, parent, name string, began, ended time.Time, attributesOf ...string) *tracepb.Span {
	if ended.Before(began) {
		ended = began
	}
	if ended.After(t.ended) {
		t.ended = ended
	}
	s := &tracepb.Span{
		TraceId: traceID(t.name()), SpanId: spanID(t.name(), path), Name: name, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanos(began), EndTimeUnixNano: nanos(ended), Attributes: attributes(attributesOf...),
	}
	if path != "" {
		s.ParentSpanId = spanID(t.name(), parent)
	}
	t.spans = append(t.spans, s)
	return s
}

func attributes(pairs ...string) []*commonpb.KeyValue {
	var all []*commonpb.KeyValue
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			all = append(all, &commonpb.KeyValue{Key: pair[0], Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: pair[1]}}})
		}
	}
	return all
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func nanos(at time.Time) uint64 { return uint64(at.UnixNano()) }

// first is the first time that is known.
func first(times ...time.Time) time.Time { return cmp.Or(times...) }

func latest(times []time.Time) (last time.Time) {
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// earliest is the earliest time that is known.
func earliest(times []time.Time) (found time.Time) {
	for _, at := range times {
		if !at.IsZero() && (found.IsZero() || at.Before(found)) {
			found = at
		}
	}
	return found
}
