// Command init is a node's first process. It runs programs in
// namespaces of the node's own (processes, mounts, network, hostname and
// inter-process communication), so that the kernel takes everything away with
// it, however it ends: every process of every pod, every mount, every
// interface and every rule of the firewall. Only folders of control groups
// stay, which are named after the node.
//
//	init run SPEC
//
// stays outside of the namespaces, where it dials the machine for the node,
// and starts itself a second time inside, as process 1 of the node. It ends
// with its parent. SPEC is a file written by kalypso's package sandbox/node.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

func main() {
	// the parent-death signal comes when the THREAD that started a process
	// ends, and the namespaces of mounts and network belong to threads
	runtime.LockOSThread()
	// pods of other users than root read what containerd unpacks
	syscall.Umask(0o022)
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: init run SPEC")
		os.Exit(2)
	}
	file := os.Args[2]
	s, err := readSpec(file)
	if err == nil {
		switch os.Args[1] {
		case "run":
			err = runOutside(s, file)
		case "inside":
			err = runInside(s)
		default:
			err = fmt.Errorf("unknown command %q", os.Args[1])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func readSpec(file string) (s spec.Spec, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("the node's specification %s: %w", file, err)
	}
	return s, nil
}
