package arc

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manifests are the objects that Azure's agent makes of a configuration: the
// GitRepository NAME, a Kustomization NAME-KUSTOMIZATION for each of its
// kustomizations, and the secret NAME-auth when it has credentials
// (learn.microsoft.com/azure/azure-arc/kubernetes/conceptual-gitops-flux2).
// The secret is written only when there are new credentials.
func manifests(name string, p armapi.Properties, only armOnly, credentials map[string]string) ([]byte, error) {
	annotation, err := json.Marshal(only)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	if len(credentials) > 0 {
		data := map[string]any{}
		for k, v := range credentials {
			data[k] = base64.StdEncoding.EncodeToString([]byte(v))
		}
		objects = append(objects, object("v1", "Secret", p.Namespace, name+"-auth", name, map[string]any{"type": "Opaque", "data": data}))
	}
	repository := object("source.toolkit.fluxcd.io/v1", "GitRepository", p.Namespace, name, name, map[string]any{"spec": gitRepository(name, p)})
	repository["metadata"].(map[string]any)["annotations"] = map[string]any{armAnnotation: string(annotation)}
	objects = append(objects, repository)
	for _, k := range slices.Sorted(maps.Keys(p.Kustomizations)) {
		objects = append(objects, object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", p.Namespace, name+"-"+k, name, map[string]any{
			"spec": kustomization(name, p.Suspend, p.Kustomizations[k]),
		}))
	}
	var all []byte
	for _, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		all = append(append(all, b...), "\n---\n"...)
	}
	return all, nil
}

func object(apiVersion, kind, namespace, name, configuration string, rest map[string]any) map[string]any {
	o := map[string]any{
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata": map[string]any{
			"name": name, "namespace": namespace, "labels": map[string]any{configurationLabel: configuration},
		},
	}
	maps.Copy(o, rest)
	return o
}

// defaultSeconds is what the service takes for an interval or a timeout that is
// not given.
const defaultSeconds = 600

func duration(n *int64) string {
	if n == nil {
		return strconv.Itoa(defaultSeconds) + "s"
	}
	return strconv.FormatInt(*n, 10) + "s"
}

func gitRepository(name string, p armapi.Properties) map[string]any {
	g := p.GitRepository
	ref := map[string]any{}
	for key, v := range map[string]*string{"branch": g.RepositoryRef.Branch, "tag": g.RepositoryRef.Tag, "semver": g.RepositoryRef.Semver, "commit": g.RepositoryRef.Commit} {
		if v != nil {
			ref[key] = *v
		}
	}
	spec := map[string]any{
		"url":      g.URL,
		"interval": duration(g.SyncIntervalInSeconds),
		"timeout":  duration(g.TimeoutInSeconds),
		"ref":      ref,
		"suspend":  p.Suspend,
	}
	switch {
	case g.LocalAuthRef != nil:
		spec["secretRef"] = map[string]any{"name": *g.LocalAuthRef}
	case hasCredentials(p):
		spec["secretRef"] = map[string]any{"name": name + "-auth"}
	}
	return spec
}

func kustomization(configuration string, suspend bool, k armapi.Kustomization) map[string]any {
	spec := map[string]any{
		"sourceRef": map[string]any{"kind": "GitRepository", "name": configuration},
		"path":      k.Path,
		"interval":  duration(k.SyncIntervalInSeconds),
		"timeout":   duration(k.TimeoutInSeconds),
		// not given, it is the interval; Flux's own default would be minutes
		"retryInterval": duration(k.SyncIntervalInSeconds),
		"prune":         k.Prune,
		"force":         k.Force,
		"suspend":       suspend,
	}
	if k.RetryIntervalInSeconds != nil {
		spec["retryInterval"] = duration(k.RetryIntervalInSeconds)
	}
	if k.Wait != nil {
		spec["wait"] = *k.Wait
	}
	var needs []any
	for _, n := range k.DependsOn {
		needs = append(needs, map[string]any{"name": configuration + "-" + n})
	}
	if needs != nil {
		spec["dependsOn"] = needs
	}
	if k.PostBuild != nil {
		spec["postBuild"] = k.PostBuild
	}
	return spec
}

func hasCredentials(p armapi.Properties) bool {
	g := p.GitRepository
	return g.HTTPSUser != nil || g.HTTPSCACert != nil || g.SSHKnownHosts != nil || len(p.ProtectedSettings) > 0
}

// credentials are the data of the secret; none when the configuration brings
// none, and then the secret that is there stays.
func credentials(p armapi.Properties) (map[string]string, error) {
	g := p.GitRepository
	data := map[string]string{}
	for _, from := range []struct {
		what, key string
		value     *string
	}{
		{"httpsKey", "password", setting(p, "httpsKey")},
		{"sshPrivateKey", "identity", setting(p, "sshPrivateKey")},
		{"sshKnownHosts", "known_hosts", g.SSHKnownHosts},
		{"httpsCACert", "ca.crt", g.HTTPSCACert},
	} {
		if from.value == nil {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(*from.value))
		if err != nil {
			return nil, armemulator.Errorf(http.StatusBadRequest, "ValidationFailed", "The property '%s' is not in base64.", from.what)
		}
		data[from.key] = string(b)
	}
	if g.HTTPSUser != nil && data["password"] != "" {
		data["username"] = *g.HTTPSUser
	}
	if len(p.ProtectedSettings) == 0 && data["ca.crt"] == "" {
		return nil, nil
	}
	return data, nil
}

func setting(p armapi.Properties, key string) *string {
	if v, ok := p.ProtectedSettings[key]; ok {
		return &v
	}
	return nil
}

// show makes of Flux's objects what ARM shows of a configuration. Secrets stay
// out; the user that goes with them is shown, as in Azure.
func show(f flux.Configuration, statuses []flux.Status, secret map[string]string, only armOnly, now time.Time) armapi.Configuration {
	r := f.Repository
	c := armapi.Configuration{
		Name: r.GetName(),
		Type: armapi.ConfigurationType,
		SystemData: &armapi.SystemData{
			CreatedAt: &only.Created, LastModifiedAt: &only.Modified, CreatedByType: "User",
		},
		Properties: armapi.Properties{
			Scope:             only.Scope,
			Namespace:         r.GetNamespace(),
			SourceKind:        "GitRepository",
			Suspend:           boolean(r, "spec", "suspend"),
			GitRepository:     showRepository(r, secret),
			Kustomizations:    map[string]armapi.Kustomization{},
			ProvisioningState: "Succeeded",
			StatusUpdatedAt:   &now,
			Statuses:          []armapi.ObjectStatus{},
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

func showRepository(r *unstructured.Unstructured, secret map[string]string) *armapi.GitRepository {
	g := &armapi.GitRepository{
		URL:                   text(r, "spec", "url"),
		TimeoutInSeconds:      seconds(r, "spec", "timeout"),
		SyncIntervalInSeconds: seconds(r, "spec", "interval"),
		RepositoryRef: armapi.RepositoryRef{
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

func showKustomization(k *unstructured.Unstructured, configuration string) armapi.Kustomization {
	own := func(name string) string { return strings.TrimPrefix(name, configuration+"-") }
	out := armapi.Kustomization{
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

func showPostBuild(k *unstructured.Unstructured) *armapi.PostBuild {
	values, some, _ := unstructured.NestedStringMap(k.Object, "spec", "postBuild", "substitute")
	from, more, _ := unstructured.NestedSlice(k.Object, "spec", "postBuild", "substituteFrom")
	if !some && !more {
		return nil
	}
	p := &armapi.PostBuild{Substitute: values}
	for _, f := range from {
		if m, ok := f.(map[string]any); ok {
			one := armapi.SubstituteFrom{}
			one.Kind, _ = m["kind"].(string)
			one.Name, _ = m["name"].(string)
			one.Optional, _ = m["optional"].(bool)
			p.SubstituteFrom = append(p.SubstituteFrom, one)
		}
	}
	return p
}

func showStatus(s flux.Status) armapi.ObjectStatus {
	out := armapi.ObjectStatus{Name: s.Name, Namespace: s.Namespace, Kind: s.Kind, ComplianceState: string(s.State), StatusConditions: []armapi.Condition{}}
	if s.AppliedBy != nil {
		out.AppliedBy = &armapi.ObjectRef{Name: s.AppliedBy.Name, Namespace: s.AppliedBy.Namespace}
	}
	for _, c := range s.Conditions {
		out.StatusConditions = append(out.StatusConditions, armapi.Condition{
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
