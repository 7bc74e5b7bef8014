// Package incluster puts Flux and Argo CD into a cluster, in the shape in which
// their own projects install them, so that a person finds what is found in
// production: Deployments, Services and service accounts of the known names, in
// the known namespaces.
//
// What they run is no image from a registry. [Flux.Images] and [ArgoCD.Images]
// make images of the programs that this kalypso has packed, for the caller to
// load into the nodes; pods find them there and nowhere else, since their pull
// policy is Never.
//
// The forge listens on the loopback of the user's machine, and git says so:
// http://localhost:PORT/. To make that the forge in a pod, too, each pod that
// fetches from git has a sidecar that listens on the same port of the pod's
// loopback and passes connections on to the node's address, where a relay waits
// for them.
package incluster
