package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// argoCDBefore are the namespace and the settings, with the URL of the web
// pages left open. What is not said is Argo CD's own default; the kinds that
// are left out, and the changes that are not looked at, are those of its own
// manifests as far as a sandbox has them. Argo CD sees only what carries the
// label.
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
  resource.customizations.ignoreResourceUpdates.all: |
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

// install puts Argo CD's kinds, settings and password on the cluster. Each step
// looks at what is there, so it may be cut off anywhere and done again.
func (a ArgoCD) install(ctx context.Context, client *cluster.Client) error {
	if err := client.Apply(ctx, fmt.Appendf(nil, argoCDBefore, a.URL())); err != nil {
		return err
	}
	if err := a.setPassword(ctx, client); err != nil {
		return fmt.Errorf("password of %s: %w", ArgoCDUser, err)
	}
	if err := installKinds(ctx, client, filepath.Join(a.Staged(), "crds")); err != nil {
		return err
	}
	return client.Apply(ctx, []byte(argoCDAfter))
}

// installKinds applies the custom resource definitions in a folder and waits
// until the API server serves them.
func installKinds(ctx context.Context, client *cluster.Client, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no custom resource definitions in %s", dir)
	}
	slices.Sort(files)
	var names []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := client.Apply(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		objects, err := cluster.Decode(b)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		for _, o := range objects {
			names = append(names, o.GetName())
		}
	}
	definitions, err := client.Resource(customResourceDefinition, "")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := established(ctx, definitions, name); err != nil {
			return err
		}
	}
	return nil
}

func argoCDLabels(name string) map[string]any {
	return map[string]any{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"}
}

func argoCDObject(apiVersion, kind, name string, rest, labels map[string]any) map[string]any {
	metadata := map[string]any{"name": name, "namespace": ArgoCDNamespace}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for k, v := range rest {
		o[k] = v
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
