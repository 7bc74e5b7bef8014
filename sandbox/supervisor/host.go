package supervisor

import (
	"net"
	"strconv"
)

// Host is what the processes of one sandbox have in common.
type Host struct {
	Registry string                   // see Process
	Env      []string                 // of each process
	Log      func(name string) string // log file of a process
	// Staged is the folder of an unpacked component.
	Staged func(component string) string
	// Port is that of a listener on 127.0.0.1, by name. Users, clusters and
	// repositories keep URLs with them, so they stay the same.
	Port func(listener string) int
	// PortFree returns an error when another program has a listener's port.
	PortFree func(listener string) error
}

// Process is a process of the host in a working folder, without its program.
func (h Host) Process(name, dir string) *Process {
	return &Process{Name: name, Env: h.Env, Dir: dir, Log: h.Log(name), Registry: h.Registry}
}

// Address is where a listener is reached.
func (h Host) Address(listener string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(h.Port(listener)))
}
