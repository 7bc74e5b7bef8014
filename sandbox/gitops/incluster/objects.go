package incluster

import (
	"bytes"
	"context"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apply puts the objects on the cluster in their order.
func apply(ctx context.Context, c *cluster.Client, objects []*unstructured.Unstructured) error {
	var all bytes.Buffer
	for _, o := range objects {
		b, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		all.Write(b)
		all.WriteString("\n---\n")
	}
	return c.Apply(ctx, all.Bytes())
}

// kindsLast moves the definitions of kinds behind all others.
func kindsLast(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var first, kinds []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == definition {
			kinds = append(kinds, o)
		} else {
			first = append(first, o)
		}
	}
	return append(first, kinds...)
}

const definition = "CustomResourceDefinition"
