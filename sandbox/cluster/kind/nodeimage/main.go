// Command nodeimage builds the image of a kind node from Debian's packages and
// kalypso's own programs, without a registry and without a container engine,
// and gives it to the engine if one answers. Run it from the root of the
// repository, once `make build` has laid the payload (`make kind-node-image`
// does both):
//
//	go run ./sandbox/cluster/kind/nodeimage
//
// The image is kind's: its files, its first process, its life. What kind
// downloads for it is made here instead:
//
//	Debian root        debootstrap, kept as a tar archive
//	node's programs    the components kube and node of the payload
//	images of pods     the same programs again, laid into containerd's store
//	network            containerd's own configuration from a template
//
// The result is an archive that `docker load` reads. Its name has a digest of
// all that decides what is in it, so a second run finds it and does nothing.
//
// The Debian root is an exception: newer versions of its packages alone make no
// new one. Remove debian-*.tar and node-*.tar from the cache to have them.
//
// A cluster of this image is complete with one node. With several, the pods of
// different nodes do not reach each other: there is no kindnet. For the same
// reason a cluster with disableDefaultCNI has this network all the same.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Stderr))
}
