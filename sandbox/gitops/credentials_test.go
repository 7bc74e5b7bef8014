package gitops

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
)

// secretOf is a secret as an API server has it.
func secretOf(namespace, name, user, token string) string {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ndata: {username: %s, password: %s}\n", name, namespace, encode(user), encode(token))
}

const devRepository = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev, namespace: flux-system}
spec: {url: "http://localhost:1/kalypso/gitops", ref: {branch: dev}, secretRef: {name: dev-auth}}
`

func TestEnsureCredentials(t *testing.T) {
	flux := FluxCredentials([]Subscription{{Name: "dev"}}, "repo-secret", "flux", "new", "http://localhost:1/")
	argo := ArgoCDSubscription{Repositories: []ArgoCDRepository{{URL: "http://localhost:1/kalypso/gitops", User: "flux", Token: "new"}}}.Credentials("flux", "new", "http://localhost:1/")
	// as `az k8s-configuration flux create` and users make them
	late := strings.NewReplacer("dev-auth", "late-auth", "name: dev", "name: late").Replace(devRepository)
	elsewhere := strings.ReplaceAll(late, "localhost:1", "git.test")
	byHand := func(url, token string) string {
		return strings.Replace(secretOf("argocd", "mine", "flux", token), "namespace: argocd}", "namespace: argocd, labels: {argocd.argoproj.io/secret-type: repository}}", 1) +
			"stringData: {url: " + url + "}\n"
	}
	const lateReader = "source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/late"
	const fluxReader, argoReader = "source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/dev", devPath
	for name, c := range map[string]struct {
		of      Credentials
		present []string
		written []string
		asked   string // which is to try again
	}{
		"Flux has the token":                   {flux, []string{secretOf("flux-system", "dev-auth", "flux", "new"), devRepository}, nil, ""},
		"Flux has an older one":                {flux, []string{secretOf("flux-system", "dev-auth", "flux", "old"), devRepository}, []string{"dev-auth"}, fluxReader},
		"workloads have an older one":          {flux, []string{secretOf("flux-system", "dev-auth", "flux", "new"), secretOf("flux-system", "repo-secret", "flux", "old"), devRepository}, []string{"repo-secret"}, ""},
		"Flux has a user's own":                {flux, []string{secretOf("flux-system", "dev-auth", "ann", "hers"), devRepository}, nil, ""},
		"Flux has lost it":                     {flux, []string{devRepository}, []string{"dev-auth"}, fluxReader},
		"users have undone all":                {flux, nil, nil, ""},
		"a user's Flux has a revoked one":      {flux, []string{secretOf("flux-system", "late-auth", "flux", "revoked"), late}, []string{"late-auth"}, lateReader},
		"a user's Flux has one that is known":  {flux, []string{secretOf("flux-system", "late-auth", "flux", "known"), late}, nil, ""},
		"a user's Flux reads another forge":    {flux, []string{secretOf("flux-system", "late-auth", "flux", "revoked"), elsewhere}, nil, ""},
		"a user's Argo CD has a revoked one":   {argo, []string{byHand("http://localhost:1/kalypso/gitops", "revoked"), secretOf("argocd", "gitops", "flux", "new"), application("gitops")}, []string{"mine"}, argoReader},
		"a user's Argo CD reads another forge": {argo, []string{byHand("http://git.test/kalypso/gitops", "revoked"), secretOf("argocd", "gitops", "flux", "new"), application("gitops")}, nil, ""},
		"Argo CD has the token":                {argo, []string{secretOf("argocd", "gitops", "flux", "new"), application("gitops")}, nil, ""},
		"Argo CD has an older one":             {argo, []string{secretOf("argocd", "gitops", "flux", "old"), application("gitops")}, []string{"gitops"}, argoReader},
		"Argo CD has lost it":                  {argo, []string{application("gitops")}, []string{"gitops"}, argoReader},
		"Argo CD reads another meanwhile":      {argo, []string{application("other")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			api := kubefake.New(t, gitRepository, applicationKind)
			api.Put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n")
			for _, o := range c.present {
				api.Put(t, o)
			}
			api.Writes = nil
			client := api.Client(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			written, err := c.of.Ensure(ctx, client, func(token string) (bool, error) { return token == "known", nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.written, written); diff != "" {
				t.Error(diff)
			}
			asked := slices.ContainsFunc(api.Writes, func(w string) bool { return strings.Contains(w, c.asked) })
			if want := len(c.written) + min(1, len(c.asked)); len(api.Writes) != want || c.asked != "" && !asked {
				t.Errorf("wrote %q", api.Writes)
			}
		})
	}
}
