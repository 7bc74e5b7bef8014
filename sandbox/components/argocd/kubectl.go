package main

import (
	"context"

	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/openapi"
)

// kubectl is what applies objects, with less to do. A sync applies each object
// twice, the first time without sending it. To validate it, kubectl reads the
// whole description of its API group each time and finds that the API server
// validates what is sent to it, which a dry run is not: half of that work, a
// quarter of what a sync costs, has no effect.
type kubectl struct{ kube.Kubectl }

func (k kubectl) ManageResources(config *rest.Config, schema openapi.Resources) (kube.ResourceOperations, func(), error) {
	ops, cleanup, err := k.Kubectl.ManageResources(config, schema)
	return operations{ops}, cleanup, err
}

type operations struct{ kube.ResourceOperations }

func (o operations) ApplyResource(ctx context.Context, obj *unstructured.Unstructured, dryRun cmdutil.DryRunStrategy, force, validate, serverSide bool, manager string) (string, error) {
	if dryRun == cmdutil.DryRunClient {
		validate = false
	}
	return o.ResourceOperations.ApplyResource(ctx, obj, dryRun, force, validate, serverSide, manager)
}
