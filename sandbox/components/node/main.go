// Command node is what an embedded cluster's node runs beside the kubelet:
// containerd, its client ctr, and the cluster's DNS server. argv[0] says which.
// They are one program because much of their code is shared.
//
// What starts for every pod is kept out of it: the shim, runc, the network
// plugins and pause are small programs of their own, and so is the node's
// first process (see init).
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/cmd/containerd/command"
	"github.com/containerd/containerd/v2/cmd/ctr/app"
	"github.com/coredns/coredns/coremain"
)

func main() {
	name := filepath.Base(os.Args[0])
	if !known(name) && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	var err error
	switch name {
	case "containerd":
		err = command.App().Run(os.Args)
	case "ctr":
		err = app.New().Run(os.Args)
	case "coredns":
		coremain.Run()
	default:
		fmt.Fprintln(os.Stderr, "usage: node containerd|coredns|ctr [flags]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func known(name string) bool { return name == "containerd" || name == "ctr" || name == "coredns" }
