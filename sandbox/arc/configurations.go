package arc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (s *server) listConfigurations(r *http.Request, p path) (*answer, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(r)
	}
	all, err := s.inRole(r.Context(), s.exact(p))
	if err != nil {
		return nil, err
	}
	return value(all), nil
}

// inRole are the configurations that a cluster has as the type that the caller
// asks for.
func (s *server) inRole(ctx context.Context, c arc.Cluster) ([]arc.Configuration, error) {
	all, _, err := s.look(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(one arc.Configuration) bool {
		of, err := arc.ParseClusterID(one.ID)
		return err != nil || of.Type != c.Type
	}), nil
}

// configuration serves one of them.
func (s *server) configuration(r *http.Request, p path) (*answer, error) {
	switch r.Method {
	case http.MethodGet:
		return s.get(r, p)
	case http.MethodPut:
		return s.put(r, p)
	case http.MethodPatch:
		return s.patch(r, p)
	case http.MethodDelete:
		return s.delete(r, p)
	}
	return nil, wrongMethod(r)
}

func (s *server) get(r *http.Request, p path) (*answer, error) {
	all, err := s.inRole(r.Context(), s.exact(p))
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Name == p.configuration {
			return ok(one), nil
		}
	}
	return nil, s.noConfiguration(p)
}

func (s *server) noConfiguration(p path) error {
	c := s.exact(p)
	return errorf(http.StatusNotFound, "FluxConfigurationNotFound", "The Resource %s/%s/%s/%s/%s could not be found!",
		c.Type.Provider(), c.Type, c.Name, arc.ConfigurationType, p.configuration)
}

// find returns the configuration of a name, nil when there is none. A name
// belongs to one role of the cluster: its objects' names are the same in both.
func (s *server) find(ctx context.Context, p path) (*entry, error) {
	c := s.exact(p)
	entries, err := s.entries(ctx, c.Name)
	if err != nil {
		if isAway(err) {
			return nil, offline(c.Name)
		}
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	for i, e := range entries {
		if e.shown.Name != p.configuration {
			continue
		}
		if e.clusterType != c.Type {
			return nil, errorf(http.StatusConflict, "Conflict", "The cluster has a configuration '%s' as one of the %s already.", p.configuration, e.clusterType)
		}
		return &entries[i], nil
	}
	return nil, nil
}

func (s *server) put(r *http.Request, p path) (*answer, error) {
	var body struct {
		Properties *arc.Properties `json:"properties"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Properties == nil {
		return nil, errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content is missing the property 'properties'.")
	}
	before, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	return s.apply(r, p, before, *body.Properties)
}

// patch is a merge of the properties (RFC 7396) into those that are there;
// credentials that are not given stay.
func (s *server) patch(r *http.Request, p path) (*answer, error) {
	var body struct {
		Properties map[string]any `json:"properties"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	before, err := s.find(r.Context(), p)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, s.noConfiguration(p)
	}
	b, err := json.Marshal(before.shown.Properties)
	if err != nil {
		return nil, err
	}
	var merged map[string]any
	if err := json.Unmarshal(b, &merged); err != nil {
		return nil, err
	}
	merge(merged, body.Properties)
	if b, err = json.Marshal(merged); err != nil {
		return nil, err
	}
	var properties arc.Properties
	if err := json.Unmarshal(b, &properties); err != nil {
		return nil, errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	if err := s.keepCredentials(r.Context(), p, before, &properties); err != nil {
		return nil, err
	}
	return s.apply(r, p, before, properties)
}

// keepCredentials gives a patched configuration the protected settings that it
// has on the cluster and that are not given anew: nothing shows them.
func (s *server) keepCredentials(ctx context.Context, p path, before *entry, to *arc.Properties) error {
	client, err := s.Clusters.Client(s.exact(p).Name)
	if err != nil {
		return err
	}
	r := before.flux.Repository
	o, err := client.Dynamic.Resource(secrets).Namespace(r.GetNamespace()).Get(ctx, r.GetName()+"-auth", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !isOurs(o, r.GetName()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("secret %s-auth: %w", r.GetName(), err)
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for setting, key := range map[string]string{"httpsKey": "password", "sshPrivateKey": "identity"} {
		if _, given := to.ProtectedSettings[setting]; !given && data[key] != "" {
			if to.ProtectedSettings == nil {
				to.ProtectedSettings = map[string]string{}
			}
			to.ProtectedSettings[setting] = data[key]
		}
	}
	return nil
}

func merge(into, from map[string]any) {
	for k, v := range from {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}
