package arc

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// manifests are the objects that Azure's agent makes of a configuration: the
// GitRepository NAME, a Kustomization NAME-KUSTOMIZATION for each of its
// kustomizations, and the secret NAME-auth when it has credentials
// (learn.microsoft.com/azure/azure-arc/kubernetes/conceptual-gitops-flux2).
// The secret is written only when there are new credentials.
func manifests(name string, p arc.Properties, only armOnly, credentials map[string]string) ([]byte, error) {
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

func gitRepository(name string, p arc.Properties) map[string]any {
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

func kustomization(configuration string, suspend bool, k arc.Kustomization) map[string]any {
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
