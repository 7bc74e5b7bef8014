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
