package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Credentials are the secrets of a cluster with which its reconciler reads the
// forge, as a subscription has made them: see [FluxCredentials] and
// [ArgoCDSubscription.Credentials].
type Credentials struct {
	user, token string
	secrets     []map[string]any
	reader      schema.GroupVersionKind                   // of what reads the secrets
	reads       func(*unstructured.Unstructured) []string // names of secrets
	patch       func() ([]byte, error)                    // makes a reader try again at once
	// others finds all secrets with which something reads the forge.
	others func(ctx context.Context, c *cluster.Client) ([]*unstructured.Unstructured, error)
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// FluxCredentials are those of subscriptions, and a secret of a name that the
// GitRepositories of workloads have as their secretRef; "" is none. forge is what
// the URLs of its repositories begin with.
func FluxCredentials(subscriptions []Subscription, name, user, token, forge string) Credentials {
	c := Credentials{user: user, token: token, reader: gitRepository}
	for _, s := range subscriptions {
		c.secrets = append(c.secrets, fluxSecret(s.Name+"-auth", user, token))
	}
	if name != "" {
		c.secrets = append(c.secrets, fluxSecret(name, user, token))
	}
	c.reads = func(o *unstructured.Unstructured) []string {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "secretRef", "name")
		return []string{name}
	}
	c.patch = func() ([]byte, error) { return reconcilePatch("credentials") }
	c.others = func(ctx context.Context, client *cluster.Client) ([]*unstructured.Unstructured, error) {
		all, err := client.List(ctx, gitRepository, metav1.NamespaceAll, metav1.ListOptions{})
		failed := []error{err}
		var found []*unstructured.Unstructured
		for i := range all {
			url, _, _ := unstructured.NestedString(all[i].Object, "spec", "url")
			if name := c.reads(&all[i])[0]; name != "" && strings.HasPrefix(url, forge) {
				secret, err := client.Find(ctx, secretKind, all[i].GetNamespace(), name)
				failed = append(failed, err)
				if secret != nil {
					found = append(found, secret)
				}
			}
		}
		return found, errors.Join(failed...)
	}
	return c
}

// Credentials are the secrets of the subscription's repositories. forge is what
// the URLs of its repositories begin with.
func (s ArgoCDSubscription) Credentials(user, token, forge string) Credentials {
	c := Credentials{user: user, token: token, reader: applicationKind}
	for _, r := range s.Repositories {
		c.secrets = append(c.secrets, r.secret())
	}
	c.reads = func(o *unstructured.Unstructured) []string {
		var names []string
		for _, source := range appSources(o) {
			url, _ := source["repoURL"].(string)
			names = append(names, repositoryName(url))
		}
		return names
	}
	c.patch = func() ([]byte, error) { return refreshPatch, nil }
	c.others = func(ctx context.Context, client *cluster.Client) ([]*unstructured.Unstructured, error) {
		all, err := client.List(ctx, secretKind, ArgoCDNamespace, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=repository"})
		var found []*unstructured.Unstructured
		for i := range all {
			if url, _ := secretValue(&all[i], "url"); strings.HasPrefix(url, forge) {
				found = append(found, &all[i])
			}
		}
		return found, err
	}
	return c
}

// reconcilePatch makes Flux reconcile an object at once; why makes it differ from
// others of the same instant.
func reconcilePatch(why string) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		requestedAt: time.Now().UTC().Format(time.RFC3339Nano) + " " + why,
	}}})
}

// Ensure writes the token into each secret that has another one, and makes a
// secret again that is gone while something still reads it. It leaves alone what a
// user has put there for another user of the forge, and in a secret that users have
// made themselves a token that the forge knows. What reads a written secret tries
// again at once. The result are the names of the secrets that were written.
func (c Credentials) Ensure(ctx context.Context, client *cluster.Client, known func(token string) (bool, error)) (written []string, err error) {
	var failed []error
	for _, secret := range c.secrets {
		o := &unstructured.Unstructured{Object: secret}
		needed, err := c.outdated(ctx, client, o)
		if err == nil && needed {
			err = client.ApplyObjects(ctx, o)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("secret %s: %w", o.GetName(), err))
		} else if needed {
			written = append(written, o.GetName())
		}
	}
	read := slices.Clone(written)
	others, err := c.others(ctx, client)
	failed = append(failed, err)
	for _, secret := range others {
		needed, err := c.unknown(secret, known)
		if err == nil && needed {
			err = mergePatch(ctx, client, secret, fmt.Appendf(nil, `{"stringData":{"password":%q}}`, c.token))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("secret %s: %w", secret.GetName(), err))
		} else if needed {
			url, _ := secretValue(secret, "url") // by which Argo CD finds it, whatever its name
			written, read = append(written, secret.GetName()), append(read, secret.GetName(), repositoryName(url))
		}
	}
	if len(read) > 0 {
		failed = append(failed, c.tryAgain(ctx, client, read))
	}
	return written, errors.Join(failed...)
}

// unknown reports whether a secret that users have made has a token that the forge
// does not know.
func (c Credentials) unknown(secret *unstructured.Unstructured, known func(string) (bool, error)) (bool, error) {
	if slices.ContainsFunc(c.secrets, func(own map[string]any) bool {
		o := unstructured.Unstructured{Object: own}
		return o.GetName() == secret.GetName() && o.GetNamespace() == secret.GetNamespace()
	}) {
		return false, nil
	}
	user, userErr := secretValue(secret, "username")
	token, err := secretValue(secret, "password")
	if err = errors.Join(userErr, err); err != nil || user != c.user || token == c.token {
		return false, err
	}
	is, err := known(token)
	return !is && err == nil, err
}

// outdated reports whether a secret has to be written.
func (c Credentials) outdated(ctx context.Context, client *cluster.Client, secret *unstructured.Unstructured) (bool, error) {
	present, err := client.Find(ctx, secret.GroupVersionKind(), secret.GetNamespace(), secret.GetName())
	if err != nil {
		return false, err
	}
	if present == nil {
		all, err := client.List(ctx, c.reader, metav1.NamespaceAll, metav1.ListOptions{})
		for i := range all {
			if c.readsAny(&all[i], []string{secret.GetName()}) {
				return true, nil
			}
		}
		return false, err
	}
	user, err := secretValue(present, "username")
	if err != nil || user != c.user {
		return false, err
	}
	token, err := secretValue(present, "password")
	return token != c.token, err
}

func (c Credentials) tryAgain(ctx context.Context, client *cluster.Client, secrets []string) error {
	patch, err := c.patch()
	if err != nil {
		return err
	}
	_, err = patchAll(ctx, client, c.reader, patch, func(o *unstructured.Unstructured) bool { return c.readsAny(o, secrets) })
	return err
}

func (c Credentials) readsAny(o *unstructured.Unstructured, secrets []string) bool {
	return slices.ContainsFunc(c.reads(o), func(name string) bool { return slices.Contains(secrets, name) })
}
