package incluster

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// one is a door to one object, or to none.
type one struct {
	dynamic.ResourceInterface
	object string
}

func (o one) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	if o.object == "" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x")
	}
	u := &unstructured.Unstructured{}
	return u, yaml.Unmarshal([]byte(o.object), &u.Object)
}

func TestGoneTellsWhatKeepsAnObject(t *testing.T) {
	for name, c := range map[string]struct{ object, want string }{
		"gone":  {"", ""},
		"going": {"status: {}", "being removed"},
		"a kind whose objects stay": {
			"status: {conditions: [{type: Established, status: 'True', reason: x}, {type: Terminating, status: 'True', reason: InstanceDeletionPending, message: could not delete all}]}",
			"InstanceDeletionPending: could not delete all",
		},
		"a namespace with a finalizer": {
			"status: {conditions: [{type: NamespaceFinalizersRemaining, status: 'True', reason: SomeFinalizersRemain, message: finalizers.fluxcd.io in 1}]}",
			"finalizers.fluxcd.io",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := gone(t.Context(), one{object: c.object}, "x")
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
