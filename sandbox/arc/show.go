package arc

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// show makes of Flux's objects what ARM shows of a configuration. Secrets stay
// out; the user that goes with them is shown, as in Azure.
func show(f flux.Configuration, statuses []flux.Status, secret map[string]string, only armOnly, now time.Time) arc.Configuration {
	r := f.Repository
	c := arc.Configuration{
		Name: r.GetName(),
		Type: arc.ConfigurationType,
		SystemData: &arc.SystemData{
			CreatedAt: &only.Created, LastModifiedAt: &only.Modified, CreatedByType: "User",
		},
		Properties: arc.Properties{
			Scope:             only.Scope,
			Namespace:         r.GetNamespace(),
			SourceKind:        "GitRepository",
			Suspend:           boolean(r, "spec", "suspend"),
			GitRepository:     showRepository(r, secret),
			Kustomizations:    map[string]arc.Kustomization{},
			ProvisioningState: "Succeeded",
			StatusUpdatedAt:   &now,
			Statuses:          []arc.ObjectStatus{},
		},
	}
	if r.GetDeletionTimestamp() != nil {
		c.Properties.ProvisioningState = "Deleting"
	}
	for _, k := range f.Kustomizations {
		one := showKustomization(k, r.GetName())
		c.Properties.Kustomizations[one.Name] = one
	}
	state, _ := flux.Combined(statuses)
	if c.Properties.Suspend {
		state = "Suspended"
	}
	c.Properties.ComplianceState = string(state)
	for _, s := range statuses {
		c.Properties.Statuses = append(c.Properties.Statuses, showStatus(s))
	}
	if revision := flux.Revision(r); revision != "" {
		c.Properties.SourceSyncedCommitID = &revision
	}
	if at, err := time.Parse(time.RFC3339, text(r, "status", "artifact", "lastUpdateTime")); err == nil {
		c.Properties.SourceUpdatedAt = &at
	}
	return c
}

func showRepository(r *unstructured.Unstructured, secret map[string]string) *arc.GitRepository {
	g := &arc.GitRepository{
		URL:                   text(r, "spec", "url"),
		TimeoutInSeconds:      seconds(r, "spec", "timeout"),
		SyncIntervalInSeconds: seconds(r, "spec", "interval"),
		RepositoryRef: arc.RepositoryRef{
			Branch: filled(text(r, "spec", "ref", "branch")),
			Tag:    filled(text(r, "spec", "ref", "tag")),
			Semver: filled(text(r, "spec", "ref", "semver")),
			Commit: filled(text(r, "spec", "ref", "commit")),
		},
		HTTPSUser:     filled(secret["username"]),
		SSHKnownHosts: filled(encoded(secret["known_hosts"])),
		HTTPSCACert:   filled(encoded(secret["ca.crt"])),
	}
	if name := text(r, "spec", "secretRef", "name"); name != r.GetName()+"-auth" {
		g.LocalAuthRef = filled(name)
	}
	return g
}

func showKustomization(k *unstructured.Unstructured, configuration string) arc.Kustomization {
	own := func(name string) string { return strings.TrimPrefix(name, configuration+"-") }
	out := arc.Kustomization{
		Name:                   own(k.GetName()),
		Path:                   text(k, "spec", "path"),
		DependsOn:              []string{},
		TimeoutInSeconds:       seconds(k, "spec", "timeout"),
		SyncIntervalInSeconds:  seconds(k, "spec", "interval"),
		RetryIntervalInSeconds: seconds(k, "spec", "retryInterval"),
		Prune:                  boolean(k, "spec", "prune"),
		Force:                  boolean(k, "spec", "force"),
	}
	wait := boolean(k, "spec", "wait")
	out.Wait = &wait
	// the interval is what it is when it was not asked for; see kustomization
	if a, b := out.RetryIntervalInSeconds, out.SyncIntervalInSeconds; a != nil && b != nil && *a == *b {
		out.RetryIntervalInSeconds = nil
	}
	needs, _, _ := unstructured.NestedSlice(k.Object, "spec", "dependsOn")
	for _, n := range needs {
		if m, ok := n.(map[string]any); ok {
			name, _ := m["name"].(string)
			out.DependsOn = append(out.DependsOn, own(name))
		}
	}
	out.PostBuild = showPostBuild(k)
	return out
}

func showPostBuild(k *unstructured.Unstructured) *arc.PostBuild {
	values, some, _ := unstructured.NestedStringMap(k.Object, "spec", "postBuild", "substitute")
	from, more, _ := unstructured.NestedSlice(k.Object, "spec", "postBuild", "substituteFrom")
	if !some && !more {
		return nil
	}
	p := &arc.PostBuild{Substitute: values}
	for _, f := range from {
		if m, ok := f.(map[string]any); ok {
			one := arc.SubstituteFrom{}
			one.Kind, _ = m["kind"].(string)
			one.Name, _ = m["name"].(string)
			one.Optional, _ = m["optional"].(bool)
			p.SubstituteFrom = append(p.SubstituteFrom, one)
		}
	}
	return p
}

func showStatus(s flux.Status) arc.ObjectStatus {
	out := arc.ObjectStatus{Name: s.Name, Namespace: s.Namespace, Kind: s.Kind, ComplianceState: string(s.State), StatusConditions: []arc.Condition{}}
	if s.AppliedBy != nil {
		out.AppliedBy = &arc.ObjectRef{Name: s.AppliedBy.Name, Namespace: s.AppliedBy.Namespace}
	}
	for _, c := range s.Conditions {
		out.StatusConditions = append(out.StatusConditions, arc.Condition{
			LastTransitionTime: c.LastTransitionTime.UTC(), Message: c.Message, Reason: c.Reason, Status: string(c.Status), Type: c.Type,
		})
	}
	return out
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func boolean(o *unstructured.Unstructured, path ...string) bool {
	b, _, _ := unstructured.NestedBool(o.Object, path...)
	return b
}

func seconds(o *unstructured.Unstructured, path ...string) *int64 {
	var d metav1.Duration
	if s := text(o, path...); s == "" || d.UnmarshalJSON([]byte(`"`+s+`"`)) != nil {
		return nil
	}
	n := int64(d.Seconds())
	return &n
}

// filled is nil for the empty text, as ARM shows what is not set.
func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
