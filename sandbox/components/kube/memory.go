package main

import (
	"runtime/debug"
	"time"
)

const (
	// startGC lets the heap grow while the control plane starts: it reads its
	// schemas, its kinds and all that is in etcd, most of which it keeps, and
	// marking that again and again is a good part of the start's CPU time.
	startGC = 150
	// steadyGC keeps the heap small afterwards: little is allocated then, and
	// memory is what a machine with several clusters runs out of.
	steadyGC = 60
	// startTime is when the start is over, whatever the machine.
	startTime = 30 * time.Second
)

// settleMemory trades memory for speed until the start is over, and then gives
// back what it has taken.
func settleMemory() {
	debug.SetGCPercent(startGC)
	time.AfterFunc(startTime, func() {
		debug.SetGCPercent(steadyGC)
		debug.FreeOSMemory()
	})
}
