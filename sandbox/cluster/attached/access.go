package attached

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

var selfReview = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

const reviewsAtOnce = 16

// denied asks the cluster what the person may not do of what is wanted, as
// "create, delete customresourcedefinitions.apiextensions.k8s.io".
func denied(ctx context.Context, client *cluster.Client, wanted []access) ([]string, error) {
	allowed := make([][]bool, len(wanted))
	var g errgroup.Group
	g.SetLimit(reviewsAtOnce)
	for i, a := range wanted {
		allowed[i] = make([]bool, len(a.verbs))
		for j, verb := range a.verbs {
			g.Go(func() (err error) {
				allowed[i][j], err = may(ctx, client, verb, a)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var lacks []string
	for i, a := range wanted {
		var verbs []string
		for j, verb := range a.verbs {
			if !allowed[i][j] {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			lacks = append(lacks, strings.Join(verbs, ", ")+" "+a.String())
		}
	}
	return lacks, nil
}

// String is as kubectl spells it.
func (a access) String() string {
	if a.group == "" {
		return a.resource
	}
	name, sub, _ := strings.Cut(a.resource, "/")
	if sub != "" {
		sub = "/" + sub
	}
	return name + "." + a.group + sub
}

func may(ctx context.Context, client *cluster.Client, verb string, a access) (bool, error) {
	name, sub, _ := strings.Cut(a.resource, "/")
	attributes := map[string]any{"verb": verb, "group": a.group, "resource": name}
	if sub != "" {
		attributes["subresource"] = sub
	}
	o, err := client.Dynamic.Resource(selfReview).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what is allowed: %w", err)
	}
	yes, _, err := unstructured.NestedBool(o.Object, "status", "allowed")
	return yes, err
}
