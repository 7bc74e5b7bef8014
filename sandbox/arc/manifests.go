package arc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manifest is an object of a configuration on its cluster.
type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Type       string   `json:"type,omitempty"`
	Data       secret   `json:"data,omitempty"`
	Spec       any      `json:"spec,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// secret is the data of a Secret, which is in base64 in JSON.
type secret map[string][]byte

// repositorySpec is that of a GitRepository, as far as ARM shows it.
type repositorySpec struct {
	URL       string            `json:"url"`
	Interval  *seconds          `json:"interval"`
	Timeout   *seconds          `json:"timeout"`
	Ref       map[string]string `json:"ref"`
	SecretRef *nameRef          `json:"secretRef,omitempty"`
	Suspend   bool              `json:"suspend"`
}

// kustomizationSpec is that of a Kustomization, as far as ARM shows it.
type kustomizationSpec struct {
	SourceRef     sourceRef         `json:"sourceRef"`
	Path          string            `json:"path"`
	Interval      *seconds          `json:"interval"`
	Timeout       *seconds          `json:"timeout"`
	RetryInterval *seconds          `json:"retryInterval"`
	Prune         bool              `json:"prune"`
	Force         bool              `json:"force"`
	Suspend       bool              `json:"suspend"`
	Wait          *bool             `json:"wait,omitempty"`
	DependsOn     []nameRef         `json:"dependsOn,omitempty"`
	PostBuild     *armapi.PostBuild `json:"postBuild,omitempty"`
}

type nameRef struct {
	Name string `json:"name"`
}

type sourceRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// seconds are a duration, a number in ARM and a text such as 10s in Kubernetes.
type seconds int64

func (s seconds) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%ds"`, int64(s)), nil }

func (s *seconds) UnmarshalJSON(b []byte) error {
	d, err := time.ParseDuration(strings.Trim(string(b), `"`))
	*s = seconds(d.Seconds())
	return err
}

// orDefault is what the service takes for an interval or a timeout that is not
// given.
func orDefault(n *int64) *seconds {
	if n == nil {
		ten := seconds(600)
		return &ten
	}
	return (*seconds)(n)
}

// specOf reads a spec into a struct. A field that cannot be read stays empty:
// the API server has checked it already.
func specOf[T any](o *unstructured.Unstructured) (spec T) {
	if b, err := json.Marshal(o.Object["spec"]); err == nil {
		_ = json.Unmarshal(b, &spec)
	}
	return spec
}

// manifests are the objects that Azure's agent makes of a configuration: the
// GitRepository NAME, a Kustomization NAME-KUSTOMIZATION for each of its
// kustomizations, and the secret NAME-auth when it has credentials
// (learn.microsoft.com/azure/azure-arc/kubernetes/conceptual-gitops-flux2).
// The secret is written only when there are new credentials.
func manifests(name string, p armapi.Properties, only armOnly, credentials secret) ([]byte, error) {
	annotation, err := json.Marshal(only)
	if err != nil {
		return nil, err
	}
	object := func(apiVersion, kind, objectName string, spec any) manifest {
		return manifest{
			APIVersion: apiVersion, Kind: kind, Spec: spec,
			Metadata: metadata{Name: objectName, Namespace: p.Namespace, Labels: map[string]string{configurationLabel: name}},
		}
	}
	var objects []manifest
	if len(credentials) > 0 {
		o := object("v1", "Secret", name+"-auth", nil)
		o.Type, o.Data = "Opaque", credentials
		objects = append(objects, o)
	}
	repository := object("source.toolkit.fluxcd.io/v1", "GitRepository", name, gitRepository(name, p))
	repository.Metadata.Annotations = map[string]string{armAnnotation: string(annotation)}
	objects = append(objects, repository)
	for _, k := range slices.Sorted(maps.Keys(p.Kustomizations)) {
		objects = append(objects, object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name+"-"+k, kustomization(name, p.Suspend, p.Kustomizations[k])))
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

func gitRepository(name string, p armapi.Properties) repositorySpec {
	g := p.GitRepository
	spec := repositorySpec{URL: g.URL, Interval: orDefault(g.SyncIntervalInSeconds), Timeout: orDefault(g.TimeoutInSeconds), Ref: map[string]string{}, Suspend: p.Suspend}
	for key, v := range refs(&g.RepositoryRef) {
		if *v != nil {
			spec.Ref[key] = **v
		}
	}
	switch {
	case g.LocalAuthRef != nil:
		spec.SecretRef = &nameRef{*g.LocalAuthRef}
	case hasCredentials(p):
		spec.SecretRef = &nameRef{name + "-auth"}
	}
	return spec
}

// refs are the fields of a reference by their names, which are Flux's, too.
func refs(r *armapi.RepositoryRef) map[string]**string {
	return map[string]**string{"branch": &r.Branch, "tag": &r.Tag, "semver": &r.Semver, "commit": &r.Commit}
}

func kustomization(configuration string, suspend bool, k armapi.Kustomization) kustomizationSpec {
	spec := kustomizationSpec{
		SourceRef: sourceRef{"GitRepository", configuration}, Path: k.Path,
		Interval: orDefault(k.SyncIntervalInSeconds), Timeout: orDefault(k.TimeoutInSeconds),
		// not given, it is the interval; Flux's own default would be minutes
		RetryInterval: orDefault(k.SyncIntervalInSeconds),
		Prune:         k.Prune, Force: k.Force, Suspend: suspend, Wait: k.Wait, PostBuild: k.PostBuild,
	}
	if k.RetryIntervalInSeconds != nil {
		spec.RetryInterval = (*seconds)(k.RetryIntervalInSeconds)
	}
	for _, n := range k.DependsOn {
		spec.DependsOn = append(spec.DependsOn, nameRef{configuration + "-" + n})
	}
	return spec
}

func hasCredentials(p armapi.Properties) bool {
	g := p.GitRepository
	return g.HTTPSUser != nil || g.HTTPSCACert != nil || g.SSHKnownHosts != nil || len(p.ProtectedSettings) > 0
}

// credentials are the data of the secret; none when the configuration has none,
// and then the existing secret stays.
func credentials(p armapi.Properties) (secret, error) {
	g := p.GitRepository
	given := map[string]*string{"sshKnownHosts": g.SSHKnownHosts, "httpsCACert": g.HTTPSCACert}
	for setting, value := range p.ProtectedSettings {
		given[setting] = &value
	}
	data := secret{}
	for setting, key := range map[string]string{"httpsKey": "password", "sshPrivateKey": "identity", "sshKnownHosts": "known_hosts", "httpsCACert": "ca.crt"} {
		if given[setting] == nil {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(*given[setting]))
		if err != nil {
			return nil, armemulator.Errorf(http.StatusBadRequest, "ValidationFailed", "The property '%s' is not in base64.", setting)
		}
		data[key] = b
	}
	if g.HTTPSUser != nil && len(data["password"]) > 0 {
		data["username"] = []byte(*g.HTTPSUser)
	}
	if len(p.ProtectedSettings) == 0 && len(data["ca.crt"]) == 0 {
		return nil, nil
	}
	return data, nil
}

// show makes of Flux's objects what ARM shows of a configuration. Secrets stay
// out; the user that goes with them is shown, as in Azure.
func show(f flux.Configuration, statuses []flux.Status, auth secret, only armOnly, now time.Time) armapi.Configuration {
	r := f.Repository
	spec := specOf[repositorySpec](r)
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
			Suspend:           spec.Suspend,
			GitRepository:     showRepository(r.GetName(), spec, auth),
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
	updated, _, _ := unstructured.NestedString(r.Object, "status", "artifact", "lastUpdateTime")
	if at, err := time.Parse(time.RFC3339, updated); err == nil {
		c.Properties.SourceUpdatedAt = &at
	}
	return c
}

func showRepository(name string, spec repositorySpec, auth secret) *armapi.GitRepository {
	g := &armapi.GitRepository{
		URL:                   spec.URL,
		TimeoutInSeconds:      (*int64)(spec.Timeout),
		SyncIntervalInSeconds: (*int64)(spec.Interval),
		HTTPSUser:             orNil(string(auth["username"])),
		SSHKnownHosts:         orNil(base64.StdEncoding.EncodeToString(auth["known_hosts"])),
		HTTPSCACert:           orNil(base64.StdEncoding.EncodeToString(auth["ca.crt"])),
	}
	for key, v := range refs(&g.RepositoryRef) {
		*v = orNil(spec.Ref[key])
	}
	if spec.SecretRef != nil && spec.SecretRef.Name != name+"-auth" {
		g.LocalAuthRef = orNil(spec.SecretRef.Name)
	}
	return g
}

func showKustomization(k *unstructured.Unstructured, configuration string) armapi.Kustomization {
	own := func(name string) string { return strings.TrimPrefix(name, configuration+"-") }
	spec := specOf[kustomizationSpec](k)
	out := armapi.Kustomization{
		Name:                   own(k.GetName()),
		Path:                   spec.Path,
		DependsOn:              []string{},
		TimeoutInSeconds:       (*int64)(spec.Timeout),
		SyncIntervalInSeconds:  (*int64)(spec.Interval),
		RetryIntervalInSeconds: (*int64)(spec.RetryInterval),
		Prune:                  spec.Prune,
		Force:                  spec.Force,
		Wait:                   spec.Wait,
		PostBuild:              spec.PostBuild,
	}
	if out.Wait == nil {
		out.Wait = new(bool)
	}
	// the interval is what it is when it was not asked for; see kustomization
	if a, b := spec.RetryInterval, spec.Interval; a != nil && b != nil && *a == *b {
		out.RetryIntervalInSeconds = nil
	}
	for _, n := range spec.DependsOn {
		out.DependsOn = append(out.DependsOn, own(n.Name))
	}
	return out
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

// orNil is nil for the empty text, as ARM shows what is not set.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
