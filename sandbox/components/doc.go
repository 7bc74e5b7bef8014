// Package components carries the big programs a sandbox is made of, and puts
// them on the disk.
//
// Kubernetes, Gitea, its runner and Flux are linked from modules of their own (the
// folders kube, gitea, runner and flux; each has its own go.mod), because their dependencies
// clash with each other and with ours. The program in build makes one archive
// of each and a manifest of them all in the folder payload. A kalypso that is
// linked with the build tag payload has that folder inside; any other kalypso
// has none, and every function here says so with [ErrNoPayload].
//
// The life of an archive:
//
//	build     folder, flags and tool versions make a key; archives are cached by it
//	Packed    what this binary has inside
//	Stage     archive -> folder on disk, verified file by file
//	Path      where that folder is
//	Prune     folders of other versions go
//
// Two traps. A staged folder's name contains the archive's digest, so the path
// of a program changes with its version: ask [Path] each time, do not store
// it. And nothing here makes files durable: after a power cut a staged folder
// may hold files of the right length and the wrong content. [Stage] reads every
// program again for that reason, so call it before each start.
package components
