package gitops

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// ArgoCDSettings are what Argo CD finds on a cluster, wherever it runs.
type ArgoCDSettings struct {
	Kinds    string // folder of its definitions
	URL      string // of the web pages
	Password string // see ArgoCD
	// Resync is how often an application is compared without a push; 0 leaves it
	// to Argo CD, or to what it is started with.
	Resync time.Duration
}

// argoCDBefore are the namespace and the settings, a format for the URL of the
// web pages and the lines after it. Other settings have Argo CD's defaults. The
// excluded kinds and the ignored changes are those of its own manifests as far as
// a sandbox has them. Argo CD reads only objects with the label.
const argoCDBefore = `apiVersion: v1
kind: Namespace
metadata:
  name: argocd
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-cm, app.kubernetes.io/part-of: argocd}
data:
  url: %s
%s  resource.customizations.ignoreResourceUpdates.all: |
    jsonPointers:
      - /status
  resource.customizations.ignoreResourceUpdates.argoproj.io_Application: |
    jqPathExpressions:
      - '.metadata.annotations."argocd.argoproj.io/refresh"'
      - '.operation'
  resource.exclusions: |
    - apiGroups: ['', discovery.k8s.io]
      kinds: [Endpoints, EndpointSlice]
    - apiGroups: [coordination.k8s.io]
      kinds: [Lease]
    - apiGroups: [authentication.k8s.io, authorization.k8s.io]
      kinds: [SelfSubjectReview, TokenReview, LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview]
    - apiGroups: [certificates.k8s.io]
      kinds: [CertificateSigningRequest]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-rbac-cm
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-rbac-cm, app.kubernetes.io/part-of: argocd}
`

// argoCDAfter needs the kinds.
const argoCDAfter = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: default
  namespace: argocd
spec:
  sourceRepos: ['*']
  destinations: [{server: '*', namespace: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`

func (s ArgoCDSettings) before() []byte {
	resync := ""
	if s.Resync > 0 {
		// without jitter, which is for installations that compare thousands
		resync = fmt.Sprintf("  timeout.reconciliation: %s\n  timeout.reconciliation.jitter: 0s\n", s.Resync)
	}
	return fmt.Appendf(nil, argoCDBefore, s.URL, resync)
}

// Install puts Argo CD's kinds, settings and password on the cluster. Each step
// depends on what is there, so it may be interrupted anywhere and repeated.
func (s ArgoCDSettings) Install(ctx context.Context, client *cluster.Client) error {
	if err := client.Apply(ctx, s.before()); err != nil {
		return err
	}
	if err := s.setPassword(ctx, client); err != nil {
		return fmt.Errorf("password of %s: %w", ArgoCDUser, err)
	}
	if err := InstallKinds(ctx, client, s.Kinds); err != nil {
		return err
	}
	return client.Apply(ctx, []byte(argoCDAfter))
}

// Settings are the objects of Install that are no kinds. The secrets have nothing
// in them.
func (s ArgoCDSettings) Settings() ([]*unstructured.Unstructured, error) {
	all, err := cluster.Decode(slices.Concat(s.before(), []byte("---\n"+argoCDAfter)))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{argoCDSecret, argoCDInitialSecret} {
		all = append(all, &unstructured.Unstructured{Object: argoCDObject("v1", "Secret", name, nil, nil)})
	}
	return all, nil
}

// Kinds are the custom resource definitions in a folder.
func Kinds(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no custom resource definitions in %s", dir)
	}
	slices.Sort(files)
	var all []*unstructured.Unstructured
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := cluster.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// InstallKinds applies the custom resource definitions in a folder and waits
// until the API server serves them.
func InstallKinds(ctx context.Context, client *cluster.Client, dir string) error {
	kinds, err := Kinds(dir)
	if err != nil {
		return err
	}
	if err := client.ApplyObjects(ctx, kinds...); err != nil {
		return err
	}
	definitions, err := client.Resource(customResourceDefinition, "")
	if err != nil {
		return err
	}
	for _, o := range kinds {
		if err := established(ctx, definitions, o.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func argoCDLabels(name string) map[string]any {
	return map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"}
}

func argoCDObject(apiVersion, kind, name string, rest, labels map[string]any) map[string]any {
	o := object(apiVersion, kind, ArgoCDNamespace, name, rest)
	if len(labels) > 0 {
		o["metadata"].(map[string]any)["labels"] = labels
	}
	return o
}

// manifests writes objects as a stream of documents.
func manifests(objects ...map[string]any) ([]byte, error) {
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

const (
	argoCDSecret        = "argocd-secret"
	argoCDInitialSecret = "argocd-initial-admin-secret"
)

// setPassword sets the password of Argo CD, unless it is set already.
func (s ArgoCDSettings) setPassword(ctx context.Context, client *cluster.Client) error {
	read := func(name, key string) (string, error) {
		o, err := client.Find(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, ArgoCDNamespace, name)
		if o == nil {
			return "", err
		}
		return secretValue(o, key)
	}
	initial, err := read(argoCDInitialSecret, "password")
	if err != nil {
		return err
	}
	hash, err := read(argoCDSecret, "admin.password")
	if err != nil {
		return err
	}
	manifests, err := passwordManifests(s.Password, initial, hash, time.Now())
	if err != nil {
		return err
	}
	return client.Apply(ctx, manifests)
}

// passwordManifests are the secrets that make password the one that Argo CD
// takes, given the initial password and the hash that are on the cluster ("" is
// absent). They are none when the password was set before: a hash that does
// not match it then is of one that a user has chosen since, and stays.
//
// The initial secret is the last of them, so that it vouches for the other. It
// is where Argo CD itself leaves a password that it has made up, and where the
// tutorials read it. A change of the time would log all users out.
func passwordManifests(password, initial, hash string, now time.Time) ([]byte, error) {
	if hash != "" && initial == password {
		return nil, nil
	}
	made, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return nil, err
	}
	return manifests(
		argoCDObject("v1", "Secret", argoCDSecret, map[string]any{
			"type": "Opaque",
			"stringData": map[string]any{
				"admin.password":      string(made),
				"admin.passwordMtime": now.UTC().Format(time.RFC3339),
			},
		}, argoCDLabels(argoCDSecret)),
		argoCDObject("v1", "Secret", argoCDInitialSecret, map[string]any{
			"type":       "Opaque",
			"stringData": map[string]any{"password": password},
		}, nil),
	)
}

// secretValue is one value of a Secret, "" when it is not there.
func secretValue(o *unstructured.Unstructured, key string) (string, error) {
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return "", err
	}
	b, err := base64.StdEncoding.DecodeString(data[key])
	if err != nil {
		return "", fmt.Errorf("secret %s: %s: %w", o.GetName(), key, err)
	}
	return string(b), nil
}
