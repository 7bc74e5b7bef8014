// Command init is a node's first process. It runs what it is told to in
// namespaces of the node's own (processes, mounts, network, hostname and
// inter-process communication), so that the kernel takes everything away with
// it, however it ends: every process of every pod, every mount, every
// interface and every rule of the firewall. Only folders of control groups
// stay, which have names that tell whose they are.
//
//	init run SPEC
//
// stays outside of the namespaces, where it dials the machine for the node,
// and starts itself a second time inside, as process 1 of the node. It ends
// with its parent. SPEC is a file written by kalypso's package sandbox/node.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	// the parent-death signal comes when the THREAD that started a process
	// ends, and the namespaces of mounts and network belong to threads
	runtime.LockOSThread()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: init run SPEC")
		os.Exit(2)
	}
	spec, err := readSpec(os.Args[2])
	if err == nil {
		switch os.Args[1] {
		case "run":
			err = runOutside(spec)
		case "inside":
			err = runInside(spec)
		default:
			err = fmt.Errorf("unknown word %q", os.Args[1])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}
