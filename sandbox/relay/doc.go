// Package relay gives a container with a network of its own connections to a
// server that listens on this machine's loopback only.
//
// In the container runs the program of component relay, started by whoever can
// start a process there, such as `docker exec -i NODE kalypso-relay serve
// --listen=127.0.0.1:3000`. Its standard input and output are the connection
// between both; each connection that it accepts becomes a stream on it, for
// which this side dials:
//
//	r := relay.New(relay.Pipe(stdout, stdin), dialForge)
//	go func() { ended <- r.Serve(ctx) }()
//	addresses, err := r.Listening(ctx)
//
// So an address means the same in the container and on the machine, and
// nothing of the machine is opened to a network, whatever runs the container:
// an engine on this machine, one in a virtual machine, or one without root.
//
// # Protocol
//
// The streams are yamux's; the program opens them. What it says on the first
// one is a line with its name and the protocol's number, then a line for each
// address it listens on. Every other stream carries a connection. A yamux
// stream has one end, a connection has three: each direction by itself, and
// both cut short. So each direction is a sequence of records, a length of two
// bytes and as many bytes of data. A record without data ends its direction,
// and a stream that ends before is a connection cut short: one that could not
// be dialled, for example, is reset, and is not mistaken for an empty answer.
//
// The program is built from a module of its own, and has a copy of join.go.
package relay
