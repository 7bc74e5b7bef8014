package arc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

const (
	// configurationLabel is on all objects that the emulation makes; its value
	// is the configuration's name.
	configurationLabel = "arc.kalypso.dev/configuration"
	// armAnnotation, on the GitRepository, is what ARM knows and Flux does not.
	armAnnotation = "arc.kalypso.dev/arm"
)

// armOnly is the content of armAnnotation.
type armOnly struct {
	Scope       string          `json:"scope"`
	ClusterType arc.ClusterType `json:"clusterType"`
	Created     time.Time       `json:"created"`
	Modified    time.Time       `json:"modified"`
}

// entry is a configuration with the role that its cluster has for it.
type entry struct {
	clusterType arc.ClusterType
	flux        flux.Configuration
	shown       arc.Configuration
}

// look reads all configurations of a cluster, in both its roles. For one that
// is away it returns what was seen last, with away set; never having seen it is
// an error, since nothing is not the same as not known.
func (s *server) look(ctx context.Context, name string) (all []arc.Configuration, away bool, err error) {
	entries, err := s.entries(ctx, name)
	if err == nil {
		for _, e := range entries {
			all = append(all, e.shown)
		}
		return all, false, s.memory.keep(name, s.now(), all)
	}
	if !isAway(err) {
		return nil, false, fmt.Errorf("cluster %s: %w", name, err)
	}
	k, known := s.memory.recall(name)
	if !known {
		return nil, true, errorf(http.StatusConflict, "ClusterOffline", "The cluster '%s' is offline and has not been seen before, so it is not known what it follows.", name)
	}
	return k.Configurations, true, nil
}

func (s *server) entries(ctx context.Context, name string) ([]entry, error) {
	client, err := s.Clusters.Client(name)
	if err != nil {
		return nil, err
	}
	objects, err := flux.Read(ctx, client.Dynamic)
	if apierrors.IsNotFound(err) {
		return nil, nil // a cluster without Flux's kinds has none of its objects
	}
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, f := range objects.Configurations() {
		if !isConfiguration(f) {
			continue
		}
		secret, err := authSecret(ctx, client, f.Repository)
		if err != nil {
			return nil, err
		}
		only := armOnlyOf(f.Repository)
		c := show(f, objects.Statuses(f), secret, only, s.now())
		c.ID = arc.Cluster{ResourceGroup: s.ResourceGroup, Type: only.ClusterType, Name: name}.ConfigurationID(s.Subscription, c.Name)
		all = append(all, entry{only.ClusterType, f, c})
	}
	return all, nil
}

// isConfiguration tells whether Azure's agent could have made it: Kustomizations
// are named after their source.
func isConfiguration(f flux.Configuration) bool {
	if f.Repository.GetLabels()[configurationLabel] != "" {
		return true
	}
	for _, k := range f.Kustomizations {
		if strings.HasPrefix(k.GetName(), f.Repository.GetName()+"-") {
			return true
		}
	}
	return false
}

// armOnlyOf is the annotation, or what fits an object without one.
func armOnlyOf(repository *unstructured.Unstructured) armOnly {
	var only armOnly
	if json.Unmarshal([]byte(repository.GetAnnotations()[armAnnotation]), &only) == nil && only.ClusterType.Provider() != "" {
		return only
	}
	created := repository.GetCreationTimestamp().UTC()
	return armOnly{Scope: "cluster", ClusterType: arc.ConnectedClusters, Created: created, Modified: created}
}

// authSecret is the data of the repository's secret, nil when there is none.
func authSecret(ctx context.Context, client *cluster.Client, repository *unstructured.Unstructured) (map[string]string, error) {
	name, _, _ := unstructured.NestedString(repository.Object, "spec", "secretRef", "name")
	if name != repository.GetName()+"-auth" {
		return nil, nil
	}
	o, err := client.Dynamic.Resource(secrets).Namespace(repository.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	encoded, _, _ := unstructured.NestedStringMap(o.Object, "data")
	data := map[string]string{}
	for k, v := range encoded {
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %s: %w", name, k, err)
		}
		data[k] = string(b)
	}
	return data, nil
}
