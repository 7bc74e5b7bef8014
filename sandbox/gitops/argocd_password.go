package gitops

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"golang.org/x/crypto/bcrypt"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	argoCDSecret        = "argocd-secret"
	argoCDInitialSecret = "argocd-initial-admin-secret"
)

// setPassword gives Argo CD the password, unless it has it already.
func (s ArgoCDSettings) setPassword(ctx context.Context, client *cluster.Client) error {
	secrets, err := client.Resource(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, ArgoCDNamespace)
	if err != nil {
		return err
	}
	read := func(name, key string) (string, error) {
		o, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
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
// not match it then is of one that a person has chosen since, and stays.
//
// The initial secret is the last of them, so that it vouches for the other. It
// is where Argo CD itself leaves a password that it has made up, and where the
// tutorials read it. A change of the time would log everybody out.
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
