package main

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
)

// leaseSeconds is the kubelet's default; the lease is renewed each quarter.
const leaseSeconds = 40

type simulated struct {
	name, kubeconfig, address, pods string
}

// play starts to play the node, and returns.
func (n simulated) play(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	stages, err := stagesOf(n.name)
	if err != nil {
		return err
	}
	c, err := controllers.NewController(controllers.Config{
		Clock:                     clock.RealClock{},
		RESTClient:                client.RESTClient(),
		TypedClient:               client,
		ManageSingleNode:          n.name,
		CIDR:                      n.pods,
		NodeIP:                    n.address,
		NodeName:                  n.name,
		LocalStages:               stages,
		PodPlayStageParallelism:   4,
		NodePlayStageParallelism:  1,
		PodsOnNodeSyncParallelism: 1,
		NodeLeaseParallelism:      1,
		NodeLeaseDurationSeconds:  leaseSeconds,
		// the same at each start: another's lease would be waited for
		ID: "kwok-" + n.name,
	})
	if err != nil {
		return err
	}
	return c.Start(ctx)
}
